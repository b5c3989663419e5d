// Propagating absl::Status, and the one payload it carries.
//
// The code of a status alone decides what happens next:
//   Unavailable         try again with growing pauses (network, busy database)
//   FailedPrecondition  stop until a person changes something
//   ResourceExhausted   stop confirming, try again slowly (disk full, quota)
//   DataLoss            the bytes are malformed or contradict each other
//   Unimplemented       newer than this build
//   Cancelled           sublite was told to stop
//   Internal            a defect in sublite
// The message says what happened, where, and what to do; the payload adds the
// place in the stream as text.
#ifndef SUBLITE_SCHEMA_STATUS_H_
#define SUBLITE_SCHEMA_STATUS_H_

#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

#define SUBLITE_CONCAT_INNER_(a, b) a##b
#define SUBLITE_CONCAT_(a, b) SUBLITE_CONCAT_INNER_(a, b)

#define RETURN_IF_ERROR(expression)                    \
  do {                                                 \
    absl::Status sublite_status_ = (expression);       \
    if (!sublite_status_.ok()) return sublite_status_; \
  } while (false)

#define ASSIGN_OR_RETURN(lhs, expression)                                \
  SUBLITE_ASSIGN_OR_RETURN_(SUBLITE_CONCAT_(sublite_or_, __LINE__), lhs, \
                            expression)

#define SUBLITE_ASSIGN_OR_RETURN_(temporary, lhs, expression) \
  auto temporary = (expression);                              \
  if (!temporary.ok()) return std::move(temporary).status();  \
  lhs = *std::move(temporary)

namespace sublite {

// For Abseil's functions: Debian builds it with a string_view of its own.
inline absl::string_view View(std::string_view text) {
  return {text.data(), text.size()};
}
inline std::string_view View(absl::string_view text) {
  return {text.data(), text.size()};
}

// The same status with `place` ("table public.t, column v") put in front of its
// message. OK stays OK.
inline absl::Status Annotate(const absl::Status& status,
                             absl::string_view place) {
  if (status.ok()) return status;
  absl::Status annotated(status.code(),
                         absl::StrCat(place, ": ", status.message()));
  status.ForEachPayload([&](absl::string_view type, const absl::Cord& payload) {
    annotated.SetPayload(type, payload);
  });
  return annotated;
}

}  // namespace sublite

#endif  // SUBLITE_SCHEMA_STATUS_H_
