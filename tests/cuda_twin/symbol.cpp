#include "symbol.h"
#include "state.h"
#include <cxxabi.h>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <map>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file that is mapped to be read. */
struct elf_file {
  const unsigned char *bytes;
  size_t size;
};

static elf_file elf_open(const char *path) {
  elf_file file = {nullptr, 0};
  const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (descriptor >= 0 && fstat(descriptor, &status) == 0) {
    void *const memory = mmap(nullptr, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (memory != MAP_FAILED) file = {static_cast<const unsigned char *>(memory), (size_t)status.st_size};
  }
  if (descriptor >= 0) close(descriptor);
  return file;
}

/* The loaded program or library that an address lies in. */
struct image {
  uintptr_t address, base;
  std::string path;
};

static int image_match(dl_phdr_info *info, size_t, void *argument) {
  image *const sought = static_cast<image *>(argument);
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) &segment = info->dlpi_phdr[i];
    const uintptr_t start = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type != PT_LOAD || sought->address < start || sought->address >= start + segment.p_memsz) continue;
    sought->base = info->dlpi_addr;
    sought->path = info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe";
    return 1;
  }
  return 0;
}

struct symbol_table {
  const ElfW(Sym) * symbols;
  size_t count;
  const char *names;
};

static symbol_table symbol_table_find(const elf_file &file) {
  const ElfW(Ehdr) *const header = reinterpret_cast<const ElfW(Ehdr) *>(file.bytes);
  const ElfW(Shdr) *const sections = reinterpret_cast<const ElfW(Shdr) *>(file.bytes + header->e_shoff);
  for (int i = 0; i < header->e_shnum; i++)
    if (sections[i].sh_type == SHT_SYMTAB)
      return {reinterpret_cast<const ElfW(Sym) *>(file.bytes + sections[i].sh_offset), sections[i].sh_size / sizeof(ElfW(Sym)),
              reinterpret_cast<const char *>(file.bytes + sections[sections[i].sh_link].sh_offset)};
  return {nullptr, 0, nullptr};
}

/* "reduce_rows(float const*, int)" becomes "reduce_rows". */
static std::string demangle(const char *mangled) {
  char *const whole = abi::__cxa_demangle(mangled, nullptr, nullptr, nullptr);
  std::string name = whole ? whole : mangled;
  free(whole);
  const size_t arguments = name.find('(');
  if (arguments != std::string::npos && arguments > 0) name.resize(arguments);
  return name;
}

/* Adds the sizes of the function's static variables: _Z5sieve… has them as _ZZ5sieve…E4name. */
static size_t static_bytes_sum(const symbol_table &table, const std::string &mangled) {
  if (mangled.compare(0, 2, "_Z") != 0) return 0;
  const std::string prefix = "_ZZ" + mangled.substr(2) + "E";
  size_t sum = 0;
  for (size_t i = 0; i < table.count; i++)
    if (ELF64_ST_TYPE(table.symbols[i].st_info) == STT_OBJECT &&
        strncmp(table.names + table.symbols[i].st_name, prefix.c_str(), prefix.size()) == 0)
      sum += table.symbols[i].st_size;
  return sum;
}

static twin_symbol symbol_read(const void *function) {
  twin_symbol symbol = {twin_format("kernel at %p", function), 0};
  image sought = {(uintptr_t)function, 0, ""};
  if (!dl_iterate_phdr(image_match, &sought)) return symbol;
  const elf_file file = elf_open(sought.path.c_str());
  if (!file.bytes) return symbol;
  const symbol_table table = symbol_table_find(file);
  for (size_t i = 0; i < table.count; i++) {
    if (ELF64_ST_TYPE(table.symbols[i].st_info) != STT_FUNC || sought.base + table.symbols[i].st_value != sought.address)
      continue;
    const char *const mangled = table.names + table.symbols[i].st_name;
    symbol = {demangle(mangled), static_bytes_sum(table, mangled)};
    break;
  }
  munmap(const_cast<unsigned char *>(file.bytes), file.size);
  return symbol;
}

const twin_symbol &twin_symbol_find(const void *function) {
  static auto &known = *new std::map<const void *, twin_symbol>();
  const auto found = known.find(function);
  return found != known.end() ? found->second : known.emplace(function, symbol_read(function)).first->second;
}
