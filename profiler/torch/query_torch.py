"""Prints what a build against this interpreter's PyTorch needs, one key=value a line; exit status 3 if it cannot be had."""
import os
import sys

try:
    import torch
except Exception as error:  # a broken installation is as good as none
    print("error=no usable PyTorch: %s" % str(error).splitlines()[0])
    sys.exit(3)

package = os.path.dirname(torch.__file__)
multiarch = getattr(sys.implementation, "_multiarch", "")


def first_with(marker, folders):
    return next((f for f in folders if os.path.exists(os.path.join(f, marker))), None)


include = first_with("ATen/record_function.h", [os.path.join(package, "include"), "/usr/include"])
library = first_with("libtorch_cpu.so", [os.path.join(package, "lib"), "/usr/lib/" + multiarch, "/usr/lib"])
if include is None or library is None:
    print("error=PyTorch %s has no headers (Debian: install libtorch-dev)" % torch.__version__)
    sys.exit(3)

print("version=%s.%s" % tuple(torch.__version__.split(".")[:2]))
print("abi=%d" % bool(torch._C._GLIBCXX_USE_CXX11_ABI))
print("include=%s" % include)
print("api_include=%s" % os.path.join(include, "torch/csrc/api/include"))
print("system=%d" % (include == "/usr/include"))
print("library=%s" % library)
