// What the stream and its slot are asked for: what was configured, as far as
// the publisher has it, and in words what it does not have.
//
// An older server is used with what it has. One setting is not given up in
// silence: publisher.origin = "none" decides which rows the replica holds, the
// others only how they travel.
//
// Pure; `run` and `check` both ask here. Versions as PQserverVersion tells
// them.
#ifndef SUBLITE_APPLIER_NEGOTIATION_H_
#define SUBLITE_APPLIER_NEGOTIATION_H_

#include <string>
#include <vector>

#include "applier/config.h"
#include "applier/publisher.h"
#include "schema/relation.h"
#include "schema/table.h"

namespace sublite {

struct PublisherFacts {
  int version = 0;
  std::string version_text;  // "15.18 (Debian …)", for people
  bool in_recovery = false;
  std::string encoding;  // server_encoding; needed for publisher.binary only
  // The first published column without a binary decoder, in words (Undecodable
  // below); "" if there is none.
  std::string undecodable;
  SlotState slot;  // one that is to be made anew counts as none
};

// A line for the log and for `check`.
struct Note {
  enum class Level {
    kInfo,    // worth knowing; nothing to be done
    kWarn,    // something that was asked for is not to be had
    kRefuse,  // the publisher cannot be followed as it was asked for
  };
  Level level = Level::kInfo;
  std::string text;
};

struct Negotiated {
  // For CREATE_REPLICATION_SLOT.
  bool slot_two_phase = false;
  bool slot_failover = false;
  // The slot is there and is to be made a failover slot.
  bool enable_failover = false;

  // For START_REPLICATION.
  int protocol_version = 1;
  Streaming streaming = Streaming::kOff;
  bool two_phase = false;
  bool binary = false;
  bool messages = false;
  bool origin_none = false;

  // For COPY: each table decides for itself whether all of its types have a
  // binary decoder.
  bool binary_copies = false;

  std::vector<Note> notes;
};

Negotiated Negotiate(const Config& config, const PublisherFacts& facts);

// "protocol 4, streaming parallel, two-phase, rows as text".
std::string Describe(const Negotiated& negotiated);

// "column t.c is of type x, which has no binary decoder"; "" where all have.
std::string Undecodable(const TableShape& shape);
std::string Undecodable(const Publications& publications);

}  // namespace sublite

#endif  // SUBLITE_APPLIER_NEGOTIATION_H_
