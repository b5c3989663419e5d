"""Tests that start a PostgreSQL server.

    postgres_test(
        name = "slot_test",
        srcs = ["slot_test.cc"],
        deps = [...],
    )

declares slot_test, against the default server (see pg_server.h), and the same program once more for each of the other
versions: slot_test_pg14, slot_test_pg16, ... with the tags "pg14", "pg16", ... A test of what does not depend on the server
says `versions = []`, one of what the default server lacks `default = False`. main() comes with it, so gtest_main must not be
among the deps.
"""

load("@rules_cc//cc:defs.bzl", "cc_test")

# Those that scripts/setup fetches; 15 is Debian's, and the default.
VERSIONS = [14, 16, 17, 18]

def _same_test_impl(ctx):
    program = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.symlink(output = program, target_file = ctx.executable.program, is_executable = True)
    runfiles = ctx.runfiles(files = [ctx.executable.program]).merge(ctx.attr.program[DefaultInfo].default_runfiles)
    return [
        DefaultInfo(executable = program, runfiles = runfiles),
        testing.TestEnvironment(ctx.attr.env),
    ]

# A program that is a test already, with another environment: it is not linked again.
_same_test = rule(
    implementation = _same_test_impl,
    attrs = {
        "env": attr.string_dict(),
        "program": attr.label(executable = True, cfg = "target"),
    },
    test = True,
)

def postgres_test(name, deps, versions = VERSIONS, default = True, size = "medium", tags = [], **kwargs):
    tags = ["local", "postgres"] + tags
    cc_test(
        name = name,
        size = size,
        tags = tags if default else tags + ["manual"],
        deps = deps + ["//tests/support:pg_server_main"],
        **kwargs
    )
    for version in versions:
        _same_test(
            name = "%s_pg%d" % (name, version),
            size = size,
            env = {"SUBLITE_TEST_SERVER": str(version)},
            program = name,
            tags = tags + ["pg%d" % version],
        )
