import { defineAlert } from './define.ts';
import { lengthOf } from './words.ts';

/** A key of a provider. */
export interface ProviderKeyReading {
  readonly provider: string;
  /** The label of a key in a pool; null for a provider with one key. */
  readonly key: string | null;
  /** Whether the provider refuses the key. `unknown`: a refusal is over, and no attempt has succeeded since. */
  readonly state: 'refused' | 'accepted' | 'unknown';
  /** The number of endpoints at which the provider refuses the key; `endpoints` counts all. */
  readonly refused: number;
  readonly endpoints: number;
}

interface ProviderKeyReadings {
  readonly providerKeys: readonly ProviderKeyReading[];
}

export const keyRefused = defineAlert({
  on: 'key_refused',
  means: 'A provider refuses one of its keys.',
  about: 'a provider that refuses one of its keys, also a key of a pool',
  often: 'at the beginning and at the end',
  keys: {},
  read: () => ({}),
  find(_, { providerKeys }: ProviderKeyReadings, found) {
    for (const one of providerKeys) {
      const { provider, key, state, refused, endpoints } = one;
      found.noteLasting(['key', provider, key ?? ''], {
        isDown: state === 'unknown' ? null : state === 'refused',
        down: refusedText(one),
        up: (ms) => `Provider ${provider} accepts ${keyText(key)} again. The alert was sent ${lengthOf(ms)} ago.`,
        details: { provider, account: key, endpoints_refused: refused, endpoints },
      });
    }
  },
});

const keyText = (key: string | null): string => (key === null ? 'its key' : `the key ${key}`);

const refusedText = ({ provider, key, refused, endpoints }: ProviderKeyReading): string =>
  refused === endpoints
    ? `Provider ${provider} refuses ${keyText(key)}. The key may be revoked: replace it.`
    : `Provider ${provider} refuses ${keyText(key)} for ${refused} of its ${endpoints} endpoints. The key may have no access to these models.`;
