import type { KindOfCall } from './kind.ts';

export const chat: KindOfCall = {
  calls: () => 1,
  callsAtOnce: 1,
  isTimedWhole: false,
  isCachedByInput: false,
};
