#include "tests/matrix/mode.h"

#include "absl/strings/str_cat.h"

namespace sublite::testing {

std::string Mode::Name() const {
  return absl::StrCat(SettingOf(streaming), two_phase ? "_twophase" : "",
                      binary ? "_binary" : "_text");
}

std::vector<Mode> AllModes() {
  std::vector<Mode> modes;
  for (const StreamingMode streaming :
       {StreamingMode::kOff, StreamingMode::kOn, StreamingMode::kParallel}) {
    for (const bool two_phase : {false, true}) {
      for (const bool binary : {false, true})
        modes.push_back({streaming, two_phase, binary});
    }
  }
  return modes;
}

std::string SettingOf(StreamingMode streaming) {
  switch (streaming) {
    case StreamingMode::kOff:
      return "off";
    case StreamingMode::kOn:
      return "on";
    case StreamingMode::kParallel:
      break;
  }
  return "parallel";
}

bool ExpectStreams(const Mode& mode, int major_version) {
  return mode.streaming != StreamingMode::kOff && major_version >= 14;
}

bool ExpectTwoPhase(const Mode& mode, int major_version) {
  return mode.two_phase && major_version >= 15;
}

std::string ExpectedOptions(const Mode& mode, int major_version) {
  const int protocol = major_version >= 16   ? 4
                       : major_version >= 15 ? 3
                       : major_version >= 14 ? 2
                                             : 1;
  const bool parallel =
      mode.streaming == StreamingMode::kParallel && major_version >= 16;
  return absl::StrCat(
      "proto_version '", protocol, "'",
      ExpectStreams(mode, major_version)
          ? parallel ? ", streaming 'parallel'" : ", streaming 'on'"
          : "",
      ExpectTwoPhase(mode, major_version) ? ", two_phase 'on'" : "",
      mode.binary && major_version >= 14 ? ", binary 'true'" : "");
}

}  // namespace sublite::testing
