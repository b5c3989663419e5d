"""The programs of a fuzz target, see fuzz_target.h."""

load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_test")

def fuzz_target(name, target, inputs, **kwargs):
    """Makes the fuzzer NAME_fuzz and the test NAME_fuzz_test.

    Args:
      name: decode, value, ...
      target: the library that defines LLVMFuzzerTestOneInput and FuzzSeeds
      inputs: how many changed seeds the test runs: some seconds' worth
      **kwargs: for the test: size, ...
    """
    cc_binary(
        name = name + "_fuzz",
        testonly = True,
        srcs = ["//tests/fuzz:fuzz_main.cc"],
        linkopts = ["-fsanitize=fuzzer"],
        tags = ["manual"],
        deps = [
            target,
            "//tests/fuzz:fuzz_target",
        ],
    )
    cc_test(
        name = name + "_fuzz_test",
        srcs = ["//tests/fuzz:replay_test.cc"],
        data = ["//tests/fuzz:%s_regressions" % name],
        env = {
            "SUBLITE_FUZZ_INPUTS": str(inputs),
            "SUBLITE_FUZZ_REGRESSIONS": "tests/fuzz/regressions/" + name,
        },
        deps = [
            target,
            "//tests/fuzz:fuzz_target",
            "@system//:gtest_main",
        ],
        **kwargs
    )
