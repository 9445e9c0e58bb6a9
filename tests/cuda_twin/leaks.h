/* Memory, streams, events and graphs that are left when the process ends. */
#pragma once

/* Lists everything that was allocated or created and neither freed nor destroyed, on stderr; returns whether there was anything. */
bool twin_leaks_list(void);
bool twin_event_list(void);
