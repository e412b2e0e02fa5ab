#!/usr/bin/env python3
"""Which tensors does an op touch? Page faults against the operands that the dispatcher announced.

Profiles one iteration of every workload in mode `faults` and prints, from Hearth's report, the precision (share of
faulted (tensor, op) pairs that were announced) and recall (share of announced pairs that faulted), and the reason
of every disagreement. docs/report.md says what is compared and what counts as confirmed."""
import sys

import runs


def measure(model, python, arguments):
    options = runs.step_options(model, arguments.steps, arguments.threads, not arguments.full)
    run = runs.run(model, "faults", python, arguments.library, options, arguments.timeout, arguments.set)
    if run.error:
        return {"error": run.error}
    profile = run.report.get("profile")
    if not profile or not profile["agreement"]:
        return {"error": "no iteration was profiled" if not profile else "no tensor was watched"}
    return {"agreement": profile["agreement"], "names": profile["names"], "complete": profile["complete"]}


def percent(ratio):
    return "-" if ratio is None else f"{100 * ratio:.2f} %"


def agreement_table(results):
    columns = ("PyTorch", "model", "tensors watched", "pairs faulted", "pairs announced", "precision", "recall",
               "raw precision", "raw recall", "precision by outermost op", "recall by outermost op")
    rows = []
    for version, model, result in results:
        if "error" in result:
            rows.append((version, model, f"**{result['error']}**", *[""] * 8))
            continue
        agreement = result["agreement"]
        inner, outer = agreement["innermost"], agreement["outermost"]
        rows.append((version, model, agreement["watched_tensors"], inner["confirmed_faults"] + inner["faults_only"],
                     inner["confirmed_operands"] + inner["operands_only"], percent(inner["precision"]),
                     percent(inner["recall"]), percent(inner["raw_precision"]), percent(inner["raw_recall"]),
                     percent(outer["precision"]), percent(outer["recall"])))
    return runs.markdown(columns, rows)


def reasons_table(results):
    columns = ("PyTorch", "model", "seen by", "reason", "by design", "pairs", "bytes", "most frequent ops")
    rows = []
    for version, model, result in results:
        for each in result.get("agreement", {}).get("disagreements", []):
            examples = [e for e in result["agreement"]["disagreeing_ops"] if e["reason"] == each["reason"]][:3]
            ops = ", ".join(f"`{result['names'][e['op_name']] or 'outside'}` {e['pairs']}" for e in examples)
            rows.append((version, model, each["seen_by"], each["text"], "yes" if each["by_design"] else "no",
                         each["pairs"], each["bytes"], ops))
    return runs.markdown(columns, rows)


def main():
    parser = runs.parser(__doc__)
    parser.add_argument("--steps", type=int, help="training steps (default 12, dlrm 30)")
    parser.add_argument("--full", action="store_true", help="full sizes instead of --small ones")
    arguments = parser.parse_args()
    versions = runs.check(arguments)
    results = []
    for python, version in versions.items():
        for model in arguments.model:
            runs.progress(f"{model} on PyTorch {version}")
            results.append((version, model, measure(model, python, arguments)))
    print(agreement_table(results))
    print("\nDisagreements:\n")
    print(reasons_table(results))
    runs.save(arguments.json, [{"torch": v, "model": m, **r} for v, m, r in results])
    return 1 if any("error" in result for _, _, result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
