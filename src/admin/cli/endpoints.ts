import { listEndpoints } from '../status.ts';
import { groupOf } from './arguments.ts';
import { commandsOf, NO_WORTH } from './operations.ts';
import type { CommandOutput } from './result.ts';

/** Runs `signalbox endpoints list` without a server. Only a running server knows the health of endpoints, so the list is empty. */
export const runEndpoints = groupOf<{ now(): number }, CommandOutput>(
  'endpoints',
  commandsOf([listEndpoints], () => ({ health: { samples: () => [] }, ...NO_WORTH })),
);
