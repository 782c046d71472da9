import { createIds } from '../../../src/core/id.ts';
import { type Instance, isSameInstance, nameOf } from '../../../src/store/instance.ts';

/** The only instance of a store that a process does not share. */
export function loneInstance(now: () => number = Date.now, name = { slot: 0, epoch: 1 }): Instance {
  return {
    ...nameOf(name),
    isCurrent: true,
    fenced: null,
    reachedForMs: Number.POSITIVE_INFINITY,
    clockOffsetMs: 0,
    idsAbove: 0,
    now,
    nextId: createIds(now, 0, name.slot),
    lives: async (other) => isSameInstance(name, other),
    release: async () => {},
  };
}
