/*
 * The texts of trace events, which nobody reads here.
 *
 * At boot the kernel goes through the print format of every event and puts numbers where it names constants, so that a program
 * outside can print what it reads (kernel/trace/trace_events.c): a tenth of the time that the kernel of an empty experiment
 * takes. The laboratory keeps events as the ring has them. Of an event's format it reads where each field is and how long,
 * which this leaves as it is; only the print format keeps its names.
 */

void __wrap_trace_event_update_all(void *map, int length, void *module);
void __wrap_trace_event_eval_update(void *map, int length);

void __wrap_trace_event_update_all(void *map, int length, void *module)
{
	(void)map;
	(void)length;
	(void)module;
}

/* Its name in older kernels. */
void __wrap_trace_event_eval_update(void *map, int length)
{
	(void)map;
	(void)length;
}
