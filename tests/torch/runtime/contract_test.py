"""c10::alloc_cpu's contract through the hook: sizes, alignment, errors, flags. Compared with the plain run."""
import unittest

from runs import LIBRARY, run_python
from training import TRAINING

PROBE = '''
import ctypes, glob, os, torch
lib = [l.split()[-1] for l in open("/proc/self/maps") if "libc10.so" in l][0]
c10 = ctypes.CDLL(lib)
hook = ctypes.CDLL(None)
def fn(name, result, *args):
    f = getattr(hook if hasattr(hook, name) else c10, name)
    f.restype, f.argtypes = result, args
    return f
alloc = fn("_ZN3c109alloc_cpuEm", ctypes.c_void_p, ctypes.c_size_t)
free = fn("_ZN3c108free_cpuEPv", None, ctypes.c_void_p)
torch.empty(1)
print("zero", alloc(0), free(None))
sizes = [1, 63, 64, 65, 4095, 4096, 4097, 16383, 16384, 16385, 1 << 20, (1 << 21) + 1, 1 << 26]
pointers = [alloc(n) for n in sizes]
print("aligned", all(p % 64 == 0 for p in pointers), len(set(pointers)) == len(pointers))
for p, n in zip(pointers, sizes): ctypes.memset(p, 0xAB, n)
for p in pointers: free(p)
def attempt(what, f):
    try: f(); print(what, "no error")
    except Exception as e: print(what, type(e).__name__, str(e).splitlines()[0].split("at ")[0][:40], "code 12" in str(e) or "negative" in str(e) or "alloc" in str(e))
attempt("too much", lambda: torch.empty(10**15))
attempt("overflow", lambda: torch.empty(2**62, dtype=torch.float64))
attempt("negative", lambda: torch.empty(-1))
print("alive", torch.ones(3).sum().item())
t = torch.arange(100000.0); v = t[50000:]; del t
print("view", v[0].item(), torch.empty(0).numel(), torch.empty(0).resize_(50000).fill_(2).sum().item())
'''

FILL = '''
import ctypes, torch
lib = [l.split()[-1] for l in open("/proc/self/maps") if "libc10.so" in l][0]
c10 = ctypes.CDLL(lib)
def flag(name):
    for symbol in (name, "_ZN3fLB%d%sE" % (len(name), name)):
        try: return ctypes.c_bool.in_dll(c10, symbol)
        except ValueError: pass
junk, zero = flag("FLAGS_caffe2_cpu_allocator_do_junk_fill"), flag("FLAGS_caffe2_cpu_allocator_do_zero_fill")
torch.ones(50000)
zero.value = True
print(all(torch.empty(n, dtype=torch.uint8).eq(0).all().item() for n in (100, 16384, 50001, 3 << 20)))
zero.value = False
junk.value = True
for n in (96, 16384, 50001, 3 << 20):
    print(n, bytes(torch.empty(n, dtype=torch.uint8)[:24].tolist()).hex(), torch.empty(n, dtype=torch.uint8).long().sum().item())
'''

HUGE = '''
import torch
x = [torch.ones(3 << 20) for _ in range(3)]
print([t.data_ptr() % 4096 == 0 for t in x] if torch.__version__ >= "2" else "n/a")
'''


class Contract(unittest.TestCase):
    def same(self, script, fresh=False, **variables):
        plain = run_python(script, fresh=fresh, **{k: v for k, v in variables.items() if not k.startswith("HEARTH_")})
        ours = run_python(script, preload=[LIBRARY], fresh=fresh, **variables)
        self.assertEqual(plain.returncode, 0, plain.stderr)
        self.assertEqual((ours.returncode, ours.stdout), (0, plain.stdout), ours.stderr)
        self.assertEqual(ours.stderr, plain.stderr)

    def test_sizes_alignment_errors(self):
        self.same(PROBE, fresh=True)

    def test_sizes_alignment_errors_with_every_tensor_in_our_heap(self):
        self.same(PROBE, HEARTH_MIN_SIZE=0)

    def test_fill_flags(self):
        self.same(FILL)

    def test_huge_page_switch(self):
        self.same(HUGE, fresh=True, THP_MEM_ALLOC_ENABLE=1)

    def test_address_space_limit_leaves_the_program_alone(self):
        self.same("import resource, torch\n"
                  "resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))\n" + PROBE)

    def test_address_space_may_be_limited_at_any_time(self):
        limit = "import resource\ndef limit(i):\n" \
                "    if i == AT: resource.HOW(resource.RLIMIT_AS, (6 << 30, 6 << 30))\n" \
                "    if i > AT: bytearray(300 << 20)\n" \
                "print(train(30, limit), float(torch.ones(100 << 20).sum()))\n"
        # Before the profiled iteration, in it, and on the plan.
        for at, how in ((1, "setrlimit"), (4, "setrlimit"), (20, "setrlimit"), (20, "prlimit")):
            with self.subTest(at=at, how=how):
                call = limit.replace("AT", str(at)).replace("HOW(", "HOW(0, " if how == "prlimit" else "HOW(").replace("HOW", how)
                self.same(TRAINING + call)


if __name__ == "__main__":
    unittest.main(verbosity=2)
