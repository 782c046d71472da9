const FALLBACKS =
  'Signalbox ranks the fallbacks of each request itself. Remove this key: a constraint says which models may serve, `gateway.alternatives` how many are kept, and `endpoints` lists other providers of one model';

/** Keys of other gateways → the Signalbox way. */
const FOREIGN_KEYS: ReadonlyMap<string, string> = new Map(
  ['fallback', 'fallbacks', 'fallback_models', 'default_fallbacks', 'context_window_fallbacks'].map((key) => [
    key,
    FALLBACKS,
  ]),
);

/** The hint for a key that other gateways have; undefined for other keys. */
export const foreignKeyHint = (key: string): string | undefined => FOREIGN_KEYS.get(key);
