// Global nn.Module hooks: each module's forward reported by dotted path, or by type where no root is known.
// Only in Python programs, only when asked for: each forward of each module costs two Python calls.
// Called by the runtime from a PyTorch thread; takes the GIL.
#pragma once

namespace hearth::adapter {

// 0; ENOSYS without Python; EAGAIN while torch.nn is not imported yet; EIO if Python refused.
int watch_modules(bool on);

}  // namespace hearth::adapter
