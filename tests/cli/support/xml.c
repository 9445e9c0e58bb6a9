#include "tests/cli/support/xml.h"
#include "base/text.h"
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { DEPTH = 32, ATTRIBUTES = 32 };

typedef struct word {
  const char *at;
  size_t length;
} word;

typedef struct parser {
  const char *at;
  word open[DEPTH];
  int depth, elements;
  const char *wrong; /* NULL: nothing so far */
} parser;

static void fail_at(parser *p, const char *why) {
  if (!p->wrong) p->wrong = why;
}

static bool same(word a, word b) { return a.length == b.length && memcmp(a.at, b.at, a.length) == 0; }
static bool begins(const parser *p, const char *text) { return strncmp(p->at, text, strlen(text)) == 0; }

static void skip_space(parser *p) {
  while (*p->at && strchr(" \t\r\n", *p->at)) p->at++;
}

static word read_name(parser *p) {
  word w = {p->at, 0};
  if (!isalpha((unsigned char)*p->at) && *p->at != '_') fail_at(p, "a name is missing");
  while (isalnum((unsigned char)*p->at) || (*p->at && strchr("_:.-", *p->at))) p->at++;
  w.length = (size_t)(p->at - w.at);
  return w;
}

static void read_entity(parser *p) {
  static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&apos;"};
  for (size_t i = 0; i < sizeof entities / sizeof *entities; i++) {
    if (!begins(p, entities[i])) continue;
    p->at += strlen(entities[i]);
    return;
  }
  int length = 0;
  unsigned code;
  if (sscanf(p->at, "&#%u;%n", &code, &length) == 1 && length > 0)
    p->at += length;
  else
    fail_at(p, "a & that is no entity");
}

static void read_character(parser *p) {
  uint32_t code;
  const size_t bytes = mz_text_character(p->at, &code); /* 0: not UTF-8 */
  const bool allowed = code == '\t' || code == '\n' || code == '\r' || (code >= 0x20 && code < 0xFFFE) || code > 0xFFFF;
  if (!allowed || bytes == 0) fail_at(p, "a character that XML does not have");
  p->at += bytes;
}

static void read_value(parser *p) {
  const char quote = *p->at;
  if (quote != '"' && quote != '\'') {
    fail_at(p, "a value without quotes");
    return;
  }
  p->at++;
  while (*p->at && *p->at != quote && !p->wrong) {
    if (*p->at == '<') fail_at(p, "a < in a value");
    if (*p->at == '&')
      read_entity(p);
    else
      read_character(p);
  }
  if (!*p->at)
    fail_at(p, "a value without an end");
  else
    p->at++;
}

static void read_tag(parser *p) {
  word names[ATTRIBUTES];
  int count = 0;
  p->at++;
  const word name = read_name(p);
  for (;;) {
    const char *before = p->at;
    skip_space(p);
    if (p->wrong || *p->at == '>' || begins(p, "/>")) break;
    if (p->at == before || count == ATTRIBUTES) {
      fail_at(p, "no space before an attribute");
      break;
    }
    names[count] = read_name(p);
    for (int i = 0; i < count; i++)
      if (same(names[i], names[count])) fail_at(p, "an attribute that is given twice");
    count++;
    if (*p->at != '=') fail_at(p, "an attribute without a value");
    p->at += *p->at == '=';
    read_value(p);
  }
  if (p->wrong) return;
  p->elements += p->depth == 0;
  if (*p->at == '>') {
    if (p->depth == DEPTH)
      fail_at(p, "too deep for this parser");
    else
      p->open[p->depth++] = name;
    p->at++;
  } else
    p->at += 2;
}

static void read_end(parser *p) {
  p->at += 2;
  const word name = read_name(p);
  skip_space(p);
  if (*p->at != '>') fail_at(p, "an end tag without an end");
  if (p->depth == 0 || !same(p->open[p->depth - 1], name)) fail_at(p, "an end tag of what is not open");
  p->depth -= p->depth > 0;
  p->at += *p->at == '>';
}

static void skip_past(parser *p, const char *end) {
  const char *found = strstr(p->at, end);
  if (found)
    p->at = found + strlen(end);
  else
    fail_at(p, "a part without an end");
}

const char *xml_fault(const char *text, const char **at) {
  parser p = {.at = text};
  while (*p.at && !p.wrong) {
    if (begins(&p, "<?"))
      skip_past(&p, "?>");
    else if (begins(&p, "<!--"))
      skip_past(&p, "-->");
    else if (begins(&p, "<!"))
      skip_past(&p, ">");
    else if (begins(&p, "</"))
      read_end(&p);
    else if (*p.at == '<')
      read_tag(&p);
    else if (*p.at == '&')
      read_entity(&p);
    else if (p.depth == 0 && !isspace((unsigned char)*p.at))
      fail_at(&p, "text outside of the element");
    else
      read_character(&p);
  }
  if (p.depth > 0) fail_at(&p, "an element without an end");
  if (p.elements != 1) fail_at(&p, "not exactly one element");
  *at = p.at;
  return p.wrong;
}

void assert_well_formed_(const char *text, const char *file, int line) {
  const char *at, *fault = xml_fault(text, &at);
  if (!fault) return;
  print_error("%s before: %.120s\n", fault, at);
  _fail(file, line);
}

int xml_count(const char *text, const char *part) {
  int count = 0;
  for (const char *at = text; (at = strstr(at, part)); at += strlen(part)) count++;
  return count;
}
