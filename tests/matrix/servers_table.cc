#include "tests/matrix/servers_table.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "applier/wire/capture.h"
#include "applier/wire/decode.h"
#include "applier/wire/frame.h"
#include "schema/status.h"
#include "tests/matrix/mode.h"

namespace sublite::testing {
namespace {

constexpr char kIntroduction[] =
    "# Servers\n\n"
    "Which message, option and type was seen from which version of "
    "PostgreSQL.\nMade by scripts/servers_table from the streams captured in "
    "tests/golden and from the\nruns of tests/matrix, never edited by hand; a "
    "test compares it with both.\n\n";

// In the order of PostgreSQL's documentation.
constexpr char kFirstBytes[] = "BMCORYIUDTSEcAbPKrp";

// A table: for each row, in the order of its first mention, a cell a version.
class Table {
 public:
  Table(std::string title, const Evidence& evidence)
      : title_(std::move(title)) {
    for (const auto& server : evidence) majors_.push_back(server.first);
  }

  void AddRow(const std::string& row) {
    if (std::find(rows_.begin(), rows_.end(), row) == rows_.end())
      rows_.push_back(row);
  }
  // Several are listed in order.
  void Add(const std::string& row, int major, const std::string& what) {
    AddRow(row);
    cells_[row][major].insert(what);
  }

  std::string Print() const {
    std::string text = absl::StrCat("| ", title_);
    for (int major : majors_) absl::StrAppend(&text, " | ", major);
    absl::StrAppend(&text, " |\n| ---");
    for (std::size_t i = 0; i < majors_.size(); ++i)
      absl::StrAppend(&text, " | ---");
    absl::StrAppend(&text, " |\n");
    for (const std::string& row : rows_) {
      absl::StrAppend(&text, "| ", row);
      for (int major : majors_)
        absl::StrAppend(&text, " | ", PrintCell(row, major));
      absl::StrAppend(&text, " |\n");
    }
    return text;
  }

 private:
  std::string PrintCell(const std::string& row, int major) const {
    const auto cells = cells_.find(row);
    if (cells == cells_.end()) return "–";
    const auto cell = cells->second.find(major);
    return cell == cells->second.end() ? "–" : absl::StrJoin(cell->second, " ");
  }

  const std::string title_;
  std::vector<int> majors_;
  std::vector<std::string> rows_;
  std::map<std::string, std::map<int, std::set<std::string>>> cells_;
};

bool Has(Tuple tuple, Datum::Kind kind) {
  return std::any_of(tuple.begin(), tuple.end(),
                     [&](const Datum& datum) { return datum.kind == kind; });
}

// What is worth a row besides the message's name.
struct Peculiarities {
  std::vector<std::string> list;

  void AddTuple(const char* message, Tuple tuple) {
    if (Has(tuple, Datum::Kind::kBinary))
      list.push_back(absl::StrCat(message, ", binary values"));
    if (Has(tuple, Datum::Kind::kUnchanged))
      list.push_back(absl::StrCat(message, ", value unchanged"));
  }
  void AddOld(const char* message, OldTuple old) {
    if (old == OldTuple::kNone) return;
    list.push_back(absl::StrCat(
        message, old == OldTuple::kKey ? ", old key" : ", old row"));
  }
  void operator()(const InsertMessage& m) { AddTuple("Insert", m.new_tuple); }
  void operator()(const UpdateMessage& m) {
    AddTuple("Update", m.new_tuple);
    AddOld("Update", m.old_kind);
  }
  void operator()(const DeleteMessage& m) { AddOld("Delete", m.old_kind); }
  void operator()(const TruncateMessage& m) {
    if (m.cascade) list.push_back("Truncate, cascade");
    if (m.restart_identity) list.push_back("Truncate, restart identity");
  }
  void operator()(const LogicalMessage& m) {
    if (!m.transactional) list.push_back("Message, outside of a transaction");
  }
  void operator()(const StreamAbortMessage& m) {
    if (m.xid != m.subxid) list.push_back("Stream Abort, of a savepoint");
    if (m.abort_lsn.has_value())
      list.push_back("Stream Abort, with position and time");
  }
  template <typename Other>
  void operator()(const Other&) {}
};

// The names of what one capture holds.
absl::StatusOr<std::set<std::string>> MessagesOf(const std::string& bytes,
                                                 int* protocol_version,
                                                 std::string* header) {
  ASSIGN_OR_RETURN(CaptureReader reader, CaptureReader::Open(bytes));
  *protocol_version = reader.header().protocol_version;
  *header = std::string(reader.header().text);
  DecodeContext context;
  context.protocol_version = *protocol_version;
  context.parallel_streaming = reader.header().parallel_streaming;
  DecodeScratch scratch;
  std::set<std::string> names;
  std::string_view bytes_of_frame;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, reader.Next(&bytes_of_frame));
    if (!more) return names;
    ASSIGN_OR_RETURN(const ServerFrame frame, ParseFrame(bytes_of_frame));
    if (const auto* keepalive = std::get_if<Keepalive>(&frame)) {
      names.insert(keepalive->reply_requested ? "Keepalive, asks for an answer"
                                              : "Keepalive");
      continue;
    }
    const std::string_view payload = std::get<XLogData>(frame).payload;
    ASSIGN_OR_RETURN(const Message message, Decode(payload, context, scratch));
    if (std::holds_alternative<StreamStartMessage>(message))
      context.in_stream_block = true;
    if (std::holds_alternative<StreamStopMessage>(message))
      context.in_stream_block = false;
    names.emplace(MessageName(message));
    Peculiarities peculiarities;
    std::visit(peculiarities, message);
    names.insert(peculiarities.list.begin(), peculiarities.list.end());
  }
}

// The rows of the messages' table, each message in front of its peculiarities.
std::vector<std::string> MessageRows(const std::set<std::string>& all) {
  std::vector<std::string> rows;
  std::vector<std::string> names = {"Keepalive"};
  for (const char* byte = kFirstBytes; *byte != '\0'; ++byte)
    names.emplace_back(MessageName(*byte));
  for (const std::string& name : names) {
    rows.push_back(name);
    for (const std::string& row : all) {
      if (row.rfind(name + ", ", 0) == 0) rows.push_back(row);
    }
  }
  return rows;
}

// Options of START_REPLICATION, as "streaming 'parallel'", from the header of
// a capture.
std::vector<std::string> OptionsOf(const std::string& header) {
  std::vector<std::string> options;
  for (const auto& word : absl::StrSplit(header, ' ')) {
    const std::vector<std::string> parts = absl::StrSplit(word, '=');
    if (parts.size() != 2 || parts[0] == "server" || parts[1] == "off")
      continue;
    options.push_back(absl::StrCat(parts[0], " '", parts[1], "'"));
  }
  return options;
}

std::string ServerOf(const std::string& header) {
  const std::size_t at = header.find(" server=");
  return at == std::string::npos ? "" : header.substr(at + 8);
}

std::string PrintTypes(const Evidence& evidence) {
  Table table("type", evidence);
  for (const auto& [major, server] : evidence) {
    for (const char* form : {"text", "binary"}) {
      const auto section = server.seen.find(absl::StrCat("types ", form));
      if (section == server.seen.end()) continue;
      for (const std::string& type : section->second)
        table.Add(type, major, form);
    }
  }
  return table.Print();
}

std::string PrintModes(const Evidence& evidence, Table* options) {
  Table table("settings of sublite", evidence);
  for (const Mode& mode : AllModes()) {
    const std::string row =
        absl::StrCat("streaming ", SettingOf(mode.streaming), ", two_phase ",
                     mode.two_phase ? "true" : "false", ", binary ",
                     mode.binary ? "true" : "false");
    for (const auto& [major, server] : evidence) {
      const auto section = server.seen.find(absl::StrCat("mode ", mode.Name()));
      if (section == server.seen.end()) continue;
      std::vector<std::string> words;
      for (const std::string& line : section->second) {
        if (line.rfind("not ", 0) == 0) continue;
        words.push_back(absl::StrReplaceAll(line, {{"'", ""}}));
        // An option has its value in quotes.
        if (words.back() != line) options->Add(line, major, "matrix");
      }
      table.Add(row, major, absl::StrJoin(words, ", "));
    }
  }
  return table.Print();
}

}  // namespace

Evidence ReadEvidence(const std::string& root) {
  const auto read = [](const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(stream),
                       std::istreambuf_iterator<char>());
  };
  Evidence evidence;
  const std::filesystem::path golden =
      std::filesystem::path(root) / "tests/golden";
  for (const auto& folder : std::filesystem::directory_iterator(golden)) {
    int major = 0;
    if (!absl::SimpleAtoi(folder.path().filename().string(), &major)) continue;
    ServerEvidence& server = evidence[major];
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
      if (file.path().extension() == ".capture")
        server.captures[file.path().filename()] = read(file.path());
    }
    server.seen =
        ParseSeen(read(std::filesystem::path(root) / SeenPath(major)));
  }
  return evidence;
}

absl::StatusOr<std::string> ServersTable(const Evidence& evidence) {
  std::map<int, std::map<std::string, std::set<std::string>>> messages;
  std::set<std::string> all, servers;
  Table options("option of START_REPLICATION", evidence);
  for (const auto& [major, server] : evidence) {
    for (const auto& [name, bytes] : server.captures) {
      int protocol = 0;
      std::string header;
      const absl::StatusOr<std::set<std::string>> names =
          MessagesOf(bytes, &protocol, &header);
      if (!names.ok())
        return absl::Status(
            names.status().code(),
            absl::StrCat(major, "/", name, ": ", names.status().ToString()));
      servers.insert(ServerOf(header));
      all.insert(names->begin(), names->end());
      for (const std::string& row : *names)
        messages[major][row].insert(absl::StrCat(protocol));
      for (const std::string& option : OptionsOf(header))
        options.Add(option, major, "golden");
    }
  }
  Table message_table("message", evidence);
  for (const std::string& row : MessageRows(all)) {
    message_table.AddRow(row);
    for (const auto& [major, rows] : messages) {
      const auto versions = rows.find(row);
      if (versions == rows.end()) continue;
      for (const std::string& version : versions->second)
        message_table.Add(row, major, version);
    }
  }
  const std::string modes = PrintModes(evidence, &options);
  return absl::StrCat(
      kIntroduction, "## Messages\n\nIn the captured streams of PostgreSQL ",
      absl::StrJoin(servers, ", "),
      ": the protocol versions in which the message was seen.\n\n",
      message_table.Print(),
      "\n## Options\n\nTaken by the server: in a captured stream (golden), in "
      "a "
      "run of sublite (matrix).\n\n",
      options.Print(),
      "\n## Modes\n\nWhat sublite asked the server for, by the server's log, "
      "and whether the server then streamed transactions\nthat were open, and "
      "sent prepared ones at PREPARE. In each mode the file was the "
      "publisher's, row for row, value for\nvalue.\n\n",
      modes,
      "\n## Types\n\nCopied, and followed as text or in binary form: what is "
      "stored is what the server says in SQL.\n`other.…` and names that are "
      "not PostgreSQL's own are domains, enums and composites of the test.\n\n",
      PrintTypes(evidence));
}

}  // namespace sublite::testing
