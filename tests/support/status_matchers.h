// GoogleTest over absl::Status and absl::StatusOr, since this Abseil has no
// matchers of its own.
//
//   ASSERT_OK(replica.Open());                      EXPECT_OK likewise, and
//   goes on ASSERT_OK_AND_ASSIGN(Lsn lsn, ParseLsn("0/1"));
//   EXPECT_THAT(Decode(bytes), StatusIs(absl::StatusCode::kDataLoss,
//   HasSubstr("offset 3"))); EXPECT_THAT(Count(), IsOkAndHolds(3));
//
// The ASSERT_ forms return from the function they stand in, so it has to be
// void.
#ifndef SUBLITE_TESTS_SUPPORT_STATUS_MATCHERS_H_
#define SUBLITE_TESTS_SUPPORT_STATUS_MATCHERS_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sublite::testing {

inline const absl::Status& GetStatus(const absl::Status& status) {
  return status;
}

template <typename T>
const absl::Status& GetStatus(const absl::StatusOr<T>& result) {
  return result.status();
}

// A message as std::string: matchers of GoogleTest do not know
// absl::string_view.
template <typename StatusOrResult>
std::string GetMessage(const StatusOrResult& result) {
  return std::string(GetStatus(result).message());
}

MATCHER(IsOk, negation ? "is not OK" : "is OK") { return GetStatus(arg).ok(); }

MATCHER_P(StatusIs, code, absl::StatusCodeToString(code)) {
  *result_listener << "which is " << GetStatus(arg);
  return GetStatus(arg).code() == code;
}

MATCHER_P2(StatusIs, code, message,
           absl::StatusCodeToString(code) + " whose message " +
               ::testing::DescribeMatcher<std::string>(message)) {
  *result_listener << "which is " << GetStatus(arg);
  return GetStatus(arg).code() == code &&
         ::testing::Matches(message)(GetMessage(arg));
}

MATCHER_P(IsOkAndHolds, value, "is OK and its value matches") {
  if (!arg.ok()) {
    *result_listener << "which is " << arg.status();
    return false;
  }
  return ::testing::ExplainMatchResult(value, *arg, result_listener);
}

}  // namespace sublite::testing

// On the status alone, so that a failure prints it.
#define ASSERT_OK(expression)                            \
  ASSERT_THAT(::sublite::testing::GetStatus(expression), \
              ::sublite::testing::IsOk())
#define EXPECT_OK(expression)                            \
  EXPECT_THAT(::sublite::testing::GetStatus(expression), \
              ::sublite::testing::IsOk())

#define SUBLITE_TESTING_CONCAT_INNER_(a, b) a##b
#define SUBLITE_TESTING_CONCAT_(a, b) SUBLITE_TESTING_CONCAT_INNER_(a, b)

#define ASSERT_OK_AND_ASSIGN(lhs, expression) \
  SUBLITE_ASSERT_OK_AND_ASSIGN_(              \
      SUBLITE_TESTING_CONCAT_(sublite_result_, __LINE__), lhs, expression)

#define SUBLITE_ASSERT_OK_AND_ASSIGN_(result, lhs, expression) \
  auto result = (expression);                                  \
  ASSERT_OK(result.status());                                  \
  lhs = *std::move(result)

#endif  // SUBLITE_TESTS_SUPPORT_STATUS_MATCHERS_H_
