/* Whether a text is well-formed XML: tags nest and end, attributes are quoted and named once, only the five entities and numbers are
 * referred to, and no character is one that XML does not have. No namespaces, no validity. */
#pragma once

/* Returns what is wrong with it, and behind which place it is; NULL: nothing. */
const char *xml_fault(const char *text, const char **at);
#define assert_well_formed(text) assert_well_formed_(text, __FILE__, __LINE__)
void assert_well_formed_(const char *text, const char *file, int line);
/* Returns how often `part` is in the text: "<rect". */
int xml_count(const char *text, const char *part);
