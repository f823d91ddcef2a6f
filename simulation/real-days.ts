// The code that a thread of the pool runs.
import { serveDays } from './day-thread.ts';
import { runDay } from './run-day.ts';

serveDays(runDay);
