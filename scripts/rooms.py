"""Reads cmake/rooms.txt, the one statement of the rooms and their order. Used by check-layers and check-hot."""
import dataclasses
import pathlib

PROJECT = pathlib.Path(__file__).resolve().parent.parent


@dataclasses.dataclass(frozen=True)
class Room:
    row: int
    name: str
    folder: str
    heat: str
    include: str
    links: tuple
    sentence: str

    @property
    def prefix(self):
        """How an #include of this room begins: src/ and include/ and profiler/ are include roots."""
        return "hearth/" if self.heat == "api" else self.folder.split("/")[-1] + "/"

    def may_include(self, header, rooms):
        """Whether a file of this room may include `header`, which belongs to another room or to none."""
        owner = next((room for room in rooms if header.startswith(room.prefix)), None)
        if owner is None or owner is self:
            return True
        words = self.include.split()
        if words[:1] != ["earlier"]:
            return header in words or owner.name in words
        return owner.row < self.row and "-" + owner.name not in words


def load(table=PROJECT / "cmake" / "rooms.txt"):
    """The rooms in order. A malformed table is a ValueError that names the line."""
    rooms = []
    for number, line in enumerate(table.read_text().splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        fields = [field.strip() for field in line.split("|")]
        if len(fields) != 7 or not fields[0].isdigit() or fields[3] not in ("hot", "cold", "api"):
            raise ValueError(f"{table}:{number}: expected 'row | room | folder | heat | include | links | what it is'")
        rooms.append(Room(int(fields[0]), *fields[1:5], tuple(fields[5].split()), fields[6]))
    return rooms


def problems_of_table(rooms):
    """Links that point to a room of the same or a later row, or to none; rows out of order."""
    rows = {room.name: room.row for room in rooms}
    for before, after in zip(rooms, rooms[1:]):
        if after.row < before.row:
            yield f"cmake/rooms.txt: {after.name} (row {after.row}) stands after {before.name} (row {before.row})"
    for room in rooms:
        for link in room.links:
            if link not in rows:
                yield f"cmake/rooms.txt: {room.name} links to {link}, which is no room"
            elif rows[link] >= room.row:
                yield f"cmake/rooms.txt: {room.name} links to {link}, which is not in an earlier row"
