"""Counts test cases after `bazel test`: count_tests.py EVENTS STATUS

EVENTS is what --build_event_json_file wrote, STATUS the exit status of Bazel. Prints the failed cases and, last, one line
"N passed, N failed" (", N skipped" if any, with the reasons in the lines before); exits with 1 if any failed. The events say which test targets there were, so
neither a stale log counts nor does a target without a log go missing.
"""

import collections
import json
import sys
import urllib.parse
import xml.etree.ElementTree

BAZEL_OK = 0
BAZEL_TESTS_FAILED = 3


def read_events(path):
    try:
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                try:
                    yield json.loads(line)
                except ValueError:  # cut off: Bazel was killed while it wrote
                    return
    except FileNotFoundError:  # Bazel did not come as far as opening it
        return


def read_cases(uri):
    """(passed, names of failed, reasons of skipped) of one test.xml."""
    passed, failed, skipped = 0, [], []
    path = urllib.parse.unquote(urllib.parse.urlparse(uri).path)
    with open(path, "rb") as file:  # a failure message may hold bytes that are no UTF-8
        text = file.read().decode("utf-8", "replace").encode("utf-8")
    for case in xml.etree.ElementTree.fromstring(text).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            failed.append(f"{case.get('classname', '')}.{case.get('name')}".lstrip("."))
        elif case.find("skipped") is not None or case.get("status") == "notrun" or case.get("result") == "skipped":
            note = case.find("skipped")
            # GoogleTest puts the place before the reason.
            reason = note.get("message", "").strip().splitlines()[-1:] if note is not None else []
            skipped.append("".join(reason) or "no reason given")
        else:
            passed += 1
    return passed, failed, skipped


def count(events):
    """(passed, lines about failures, reasons of the skipped) over all targets."""
    passed, failures, skipped = 0, [], []
    results = {}  # (label, run, shard) -> (attempt, event): the last attempt counts
    summed_up = set()  # labels of the tests that were asked for; one that a filter left out is not here
    for event in events:
        kind, identity = next(iter(event["id"].items()))
        label = identity.get("label") if isinstance(identity, dict) else None
        if kind == "targetCompleted" and not event.get("completed", {}).get("success"):
            failures.append(f"{label}: does not build")
        elif kind == "testResult":
            key = (label, identity.get("run"), identity.get("shard"))
            if key not in results or results[key][0] <= identity.get("attempt", 1):
                results[key] = (identity.get("attempt", 1), event["testResult"])
        elif kind == "testSummary":
            summed_up.add(label)

    for (label, _, _), (_, result) in sorted(results.items(), key=lambda item: str(item[0])):
        names = []
        for output in result.get("testActionOutput", []):
            if output["name"] == "test.xml":
                try:
                    more_passed, names, more_skipped = read_cases(output["uri"])
                except (OSError, xml.etree.ElementTree.ParseError) as error:
                    names = [f"no readable test.xml ({error})"]
                else:
                    passed += more_passed
                    skipped += more_skipped
        if result.get("status") not in ("PASSED", "FLAKY") and not names:
            names = [result.get("status", "no status").lower() + " outside its cases"]
        failures += [f"{label}: {name}" for name in names]
    failures += [f"{label}: did not run" for label in sorted(summed_up - {key[0] for key in results})
                 if f"{label}: does not build" not in failures]
    return passed, failures, skipped


def main(events_path, status):
    passed, failures, skipped = count(read_events(events_path))
    if int(status) not in (BAZEL_OK, BAZEL_TESTS_FAILED) and not failures:
        failures.append(f"bazel test ended with status {status}")
    for failure in failures:
        print("failed:", failure)
    for reason, cases in sorted(collections.Counter(skipped).items()):
        print(f"skipped: {cases} ({reason})")
    print(f"{passed} passed, {len(failures)} failed" + (f", {len(skipped)} skipped" if skipped else ""))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
