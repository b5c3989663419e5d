#include "applier/negotiation.h"

#include "absl/strings/str_cat.h"

namespace sublite {
namespace {

// The first servers with a feature.
constexpr int kStreamingServer = 140000;
constexpr int kBinaryServer = 140000;
constexpr int kMessagesServer = 140000;
constexpr int kTwoPhaseServer = 150000;
constexpr int kParallelServer = 160000;
constexpr int kOriginServer = 160000;
constexpr int kFailoverServer = 170000;

int ProtocolVersion(int server) {
  if (server >= kParallelServer) return 4;
  if (server >= kTwoPhaseServer) return 3;
  return server >= kStreamingServer ? 2 : 1;
}

class Negotiation {
 public:
  Negotiation(const Config& config, const PublisherFacts& facts)
      : asked_(config.publisher), facts_(facts) {}

  Negotiated Run() {
    result_.protocol_version = ProtocolVersion(facts_.version);
    ChooseOrigin();
    ChooseStreaming();
    ChooseTwoPhase();
    ChooseBinary();
    ChooseMessages();
    ChooseFailover();
    return std::move(result_);
  }

 private:
  void Say(Note::Level level, std::string text) {
    result_.notes.push_back({level, std::move(text)});
  }
  // "publisher.x needs server 16 or later, this is 15.18".
  std::string Needs(const std::string& setting, int server) const {
    return absl::StrCat("publisher.", setting, " needs server ", server / 10000,
                        " or later, this is ", facts_.version_text);
  }

  void ChooseOrigin() {
    if (!asked_.origin_none) return;
    result_.origin_none = facts_.version >= kOriginServer;
    if (result_.origin_none) return;
    Say(Note::Level::kRefuse,
        absl::StrCat(Needs("origin = \"none\"", kOriginServer),
                     ", which cannot leave out the changes that came to it "
                     "from elsewhere: set it to \"any\" to have them too, or "
                     "update the server"));
  }

  void ChooseStreaming() {
    const StreamingSetting setting = asked_.streaming;
    if (setting == StreamingSetting::kOff) return;
    if (facts_.version < kStreamingServer) {
      if (setting == StreamingSetting::kAuto) return;
      Say(Note::Level::kWarn,
          absl::StrCat(Needs("streaming", kStreamingServer),
                       ": large transactions arrive when they are committed"));
      return;
    }
    const bool parallel = facts_.version >= kParallelServer;
    result_.streaming = setting == StreamingSetting::kOn || !parallel
                            ? Streaming::kOn
                            : Streaming::kParallel;
    if (setting == StreamingSetting::kParallel && !parallel) {
      Say(Note::Level::kWarn,
          absl::StrCat(Needs("streaming = \"parallel\"", kParallelServer),
                       ": transactions are streamed as with \"on\""));
    }
  }

  void ChooseTwoPhase() {
    const bool can = facts_.version >= kTwoPhaseServer;
    const SlotState& slot = facts_.slot;
    result_.two_phase = asked_.two_phase && can;
    result_.slot_two_phase = result_.two_phase;
    if (asked_.two_phase && !can) {
      Say(Note::Level::kInfo,
          absl::StrCat(Needs("two_phase", kTwoPhaseServer),
                       ": prepared transactions arrive when they are "
                       "committed"));
    } else if (result_.two_phase && slot.exists && !slot.two_phase) {
      // START_REPLICATION switches it on for good, from its position.
      Say(Note::Level::kInfo,
          absl::StrCat("slot ", asked_.slot,
                       " was made without two_phase, which is switched on "
                       "now: what was prepared before arrives when it is "
                       "committed"));
    } else if (!asked_.two_phase && slot.exists && slot.two_phase) {
      // What a slot has it keeps, whatever START_REPLICATION asks for.
      Say(Note::Level::kWarn,
          absl::StrCat("publisher.two_phase is false, but slot ", asked_.slot,
                       " was made with it, and so transactions arrive when "
                       "they are prepared (readers see them when they are "
                       "committed): set it to true, or make a new slot with "
                       "`sublite teardown`, after which `sublite run` copies "
                       "all tables again"));
    }
  }

  void ChooseBinary() {
    if (!asked_.binary) return;
    std::string why;
    if (facts_.version < kBinaryServer) {
      why = Needs("binary", kBinaryServer);
    } else if (facts_.encoding != "UTF8") {
      // Some send functions give the length before a conversion and the bytes
      // after it.
      why = absl::StrCat(
          "publisher.binary needs a database in UTF8, this one is in ",
          facts_.encoding);
    }
    result_.binary_copies = why.empty();
    result_.binary = why.empty() && facts_.undecodable.empty();
    if (!why.empty()) {
      Say(Note::Level::kWarn, absl::StrCat(why, "; rows arrive as text"));
    } else if (!result_.binary) {
      Say(Note::Level::kWarn,
          absl::StrCat("publisher.binary cannot be had for the stream: ",
                       facts_.undecodable, "; its rows arrive as text"));
    }
  }

  void ChooseMessages() {
    if (!asked_.messages) return;
    result_.messages = facts_.version >= kMessagesServer;
    if (result_.messages) return;
    Say(Note::Level::kWarn, absl::StrCat(Needs("messages", kMessagesServer),
                                         ": sublite_messages stays empty"));
  }

  void ChooseFailover() {
    if (!asked_.failover) return;
    if (facts_.version < kFailoverServer) {
      Say(Note::Level::kWarn,
          absl::StrCat(Needs("failover", kFailoverServer),
                       ": the slot does not follow a failover, after which "
                       "all tables are copied again"));
    } else if (facts_.in_recovery) {
      Say(Note::Level::kWarn,
          "publisher.failover has no effect on a standby: only a primary's "
          "slots are passed on");
    } else {
      result_.slot_failover = true;
      result_.enable_failover = facts_.slot.exists && !facts_.slot.failover;
      if (!result_.enable_failover) return;
      Say(Note::Level::kInfo,
          absl::StrCat("slot ", asked_.slot,
                       " was made without failover, which is switched on now"));
    }
  }

  const decltype(Config::publisher)& asked_;
  const PublisherFacts& facts_;
  Negotiated result_;
};

}  // namespace

Negotiated Negotiate(const Config& config, const PublisherFacts& facts) {
  return Negotiation(config, facts).Run();
}

std::string Describe(const Negotiated& negotiated) {
  const char* streaming = "off";
  if (negotiated.streaming == Streaming::kOn) streaming = "on";
  if (negotiated.streaming == Streaming::kParallel) streaming = "parallel";
  return absl::StrCat(
      "protocol ", negotiated.protocol_version, ", streaming ", streaming,
      negotiated.two_phase ? ", two-phase" : "",
      negotiated.binary ? ", rows in binary form" : ", rows as text",
      negotiated.messages ? ", messages" : "",
      negotiated.origin_none ? ", origin none" : "");
}

std::string Undecodable(const TableShape& shape) {
  const TableColumn* column = FindUndecodable(shape);
  if (column == nullptr) return std::string();
  return absl::StrCat("column ", shape.FullName(), ".", column->pg_name,
                      " is of type ", column->pg_type,
                      ", which has no binary decoder");
}

std::string Undecodable(const Publications& publications) {
  for (const PublishedTable& table : publications.tables) {
    std::string found =
        Undecodable(ShapeFor(table, publications.types, NamingOptions()));
    if (!found.empty()) return found;
  }
  return std::string();
}

}  // namespace sublite
