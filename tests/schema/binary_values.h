// Random values in binary form, over the whole range of their types.
#ifndef SUBLITE_TESTS_SCHEMA_BINARY_VALUES_H_
#define SUBLITE_TESTS_SCHEMA_BINARY_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace sublite::testing {

template <typename Integer>
void AppendBigEndian(Integer value, std::string* bytes) {
  for (std::size_t i = sizeof(Integer); i-- > 0;) {
    bytes->push_back(
        static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i)));
  }
}

struct BinaryMaker {
  const char* type;
  // A value that a server of that version (PQserverVersion) takes and prints.
  std::string (*make)(std::mt19937_64& random, int server_version);
};

const std::vector<BinaryMaker>& BinaryMakers();

}  // namespace sublite::testing

#endif  // SUBLITE_TESTS_SCHEMA_BINARY_VALUES_H_
