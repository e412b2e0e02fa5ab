#include "profile/agreement.h"

namespace hearth::profile {
namespace {

struct Entry {
  const char* name;
  bool by_design;
  const char* text;
};

// In the order of Reason.
constexpr std::array<Entry, kReasons> kEntries{{
    {"scratch", true, "private to one op: allocated, touched and freed inside it"},
    {"never_announced", true, "internal to a library: operand of no op that computes"},
    {"outside_any_op", true, "touched between ops: by Python, numpy or a compiled kernel"},
    {"worker_thread", false, "touched by a thread without an op of its own, credited to the main thread's op"},
    {"other_thread_op", false, "touched inside an op of another thread"},
    {"not_an_operand", false, "touched in an op that does not list the tensor"},
    {"empty_operand", true, "the operand spans no byte"},
    {"metadata_only", true, "the op needs shape and strides only, or hands its input on"},
    {"passed_through", true, "listed by an autograd node or user scope, and no op inside touches it"},
    {"opened_earlier", false, "touched earlier in the same outermost op, which left the page open"},
    {"partial_view", false, "a view that may begin past the guarded first page"},
    {"sparse_access", false, "the op gathers or scatters, and the guarded pages may not be among its rows"},
    {"freed_in_op", false, "freed inside the op"},
    {"other_thread_operand", false, "listed by an op of another thread"},
    {"no_fault", false, "listed, and no touch seen"},
}};

const Entry& entry(Reason reason) { return kEntries[static_cast<std::size_t>(reason)]; }

}  // namespace

const char* reason_name(Reason reason) { return entry(reason).name; }
const char* reason_text(Reason reason) { return entry(reason).text; }
bool by_design(Reason reason) { return entry(reason).by_design; }

}  // namespace hearth::profile
