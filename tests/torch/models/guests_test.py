"""bench/macro/largest_batch.py and kernel_tiering.py without a guest: search, figures, tables and judgments on known
numbers."""
import pathlib
import sys
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(PROJECT / "bench" / "macro"))
import guest_server as guests  # noqa: E402
import kernel_tiering as tiering  # noqa: E402
import largest_batch as batches  # noqa: E402

LOSSES = ["0x1p+1", "0x1p+0"]


def tried(batch, trained=True, **more):
    return {"batch": batch, "trained": trained, "out_of_memory": not trained, "out_of_time": False,
            "status": 0 if trained else 9, "free": 64 << 20, "losses": LOSSES, "peak": [60 << 20, 8 << 20], **more}


def under_hearth(batch, **more):
    return tried(batch, **{"capacity": 40 << 20, "fast_peak": 40 << 20, "backend": "numa", **more})


def results(bound, hearth):
    return {"bound to the fast node": {"largest": max(each["batch"] for each in bound if each["trained"]), "tried": bound},
            "under Hearth": {"largest": max(each["batch"] for each in hearth if each["trained"]), "tried": hearth}}


class Search(unittest.TestCase):
    def search(self, limit, first):
        asked = []
        found = batches.largest(lambda batch: asked.append(batch) or batch <= limit, first)
        return found, asked

    def test_finds_the_limit_to_an_eighth_from_either_side(self):
        for first in (100, 1000, 10000):
            for limit in (1000, 1500, 4097, 9999):
                found, asked = self.search(limit, first)
                self.assertTrue(found <= limit < found + found / 8 + 1, (first, limit, found))
                self.assertEqual(len(asked), len(set(asked)), "no batch is tried twice")

    def test_nothing_trains(self):
        self.assertEqual(self.search(0, 4096)[0], 0)


class Judgment(unittest.TestCase):
    def found(self, bound, hearth, reference=None):
        reference = reference or {"100": LOSSES, "400": LOSSES}
        return list(batches.problems(results(bound, hearth), reference, 2))

    def test_nothing_to_say(self):
        self.assertEqual(self.found([tried(100), tried(200, False)], [under_hearth(400), tried(800, False)]), [])

    def test_other_losses(self):
        self.assertEqual(len(self.found([tried(100)], [under_hearth(400, losses=["0x1p+1", "0x1.8p+0"])])), 1)

    def test_a_loss_that_does_not_fall(self):
        flat = ["0x1p+0", "0x1p+0"]
        self.assertEqual(len(self.found([tried(100)], [under_hearth(400, losses=flat)], {"100": LOSSES, "400": flat})), 1)

    def test_more_than_the_capacity_and_no_nodes(self):
        self.assertEqual(len(self.found([tried(100)], [under_hearth(400, fast_peak=41 << 20)])), 1)
        self.assertEqual(len(self.found([tried(100)], [under_hearth(400, backend="emulated")])), 1)

    def test_a_batch_that_ended_otherwise(self):
        stopped = tried(200, False, out_of_memory=False)
        self.assertEqual(len(self.found([tried(100), stopped], [under_hearth(400)])), 1)

    def test_table(self):
        text = batches.table(results([tried(100), tried(200, False)], [under_hearth(400)]), {"100": LOSSES, "400": []})
        bound, hearth = text.splitlines()[2:]
        self.assertIn("| 100 | 64 MiB | 60 MiB, 8 MiB | 200: out of memory | the same |", bound)
        self.assertIn("| 400 | 40 MiB | 60 MiB, 8 MiB | none failed | **others** |", hearth)


class Figures(unittest.TestCase):
    def look(self, fast, slow, pages):
        return {"bytes": [fast, slow], "vmstat": {"pgmigrate_success": pages, "pgpromote_success": pages // 2,
                                                  "pgdemote_kswapd": pages // 4, "pgdemote_direct": pages // 4,
                                                  "numa_hint_faults": 3 * pages}}

    def test_only_settled_steps_count(self):
        training = guests.Training(1, begin=self.look(10, 20, 0))
        noisy = [[self.look(999, 999, 77), self.look(999, 999, 1000)] for _ in range(tiering.SETTLED)]
        training.steps = noisy + [[self.look(15, 50, 0), self.look(0, 0, 1008)], [self.look(25, 70, 0), self.look(0, 0, 1024)]]
        found = tiering.figures(training)
        self.assertEqual((found["fast"], found["slow"]), (10, 40))
        self.assertEqual(found["migrated"], 12 * guests.PAGE)
        self.assertEqual(found["promoted"], 6 * guests.PAGE)
        self.assertEqual(found["demoted"], 6 * guests.PAGE)
        self.assertEqual(found["hint_faults"], 36)

    def test_other_losses_are_told(self):
        way = {"trained": True, "status": 0, "losses": LOSSES, "figures": dict.fromkeys(
            ("fast", "slow", "migrated", "promoted", "demoted"), 1 << 20)}
        lying = {**way, "losses": ["0x1p+1", "0x1.8p+0"]}
        both = {"ways": {"kernel": way, "libmemtier": lying}}
        self.assertEqual(len(list(tiering.problems(both))), 1)
        self.assertIn("| libmemtier | 1.0 | 1.0 | 1.0 | 1.0 | 1.0 | **others** |", tiering.table(both))


if __name__ == "__main__":
    unittest.main()
