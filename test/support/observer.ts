import { Gate } from '../../src/access/limits/gate.ts';
import type { Gateway } from '../../src/request/gateway.ts';
import { Observer } from '../../src/request/observe/observer.ts';

/** What an app is made with where nobody looks at its requests. */
export const unobserved = ({ log, clock, nextId }: Gateway) => ({
  observer: new Observer({ trace: null, reporters: [], log, clock, nextId, written: async () => {} }),
  gate: new Gate(() => performance.now()),
  socketBytesMax: 1_048_576,
  metrics: null,
  alerts: { list: async () => [], test: async () => [] },
  status: {
    health: { samples: () => [] },
    learning: () => Promise.reject(new Error('no learning here')),
    instance: () => {
      throw new Error('not asked for here');
    },
  },
});
