import { defineAlert } from './define.ts';
import { afterSeconds } from './keys.ts';
import { lengthOf } from './words.ts';

export interface ProviderReading {
  readonly name: string;
  /** Whether the provider answered the last attempts that reached it. */
  readonly isUp: boolean;
  /** When the current series of failed attempts began, ms since 1970; null if not all attempts fail. */
  readonly downSince: number | null;
  /** Whether the account at the provider has no credit left. */
  readonly isUnpaid: boolean;
  /** The number of endpoints that are ejected, misconfigured or out of credit; `endpoints` counts all. */
  readonly shut: number;
  readonly endpoints: number;
}

interface ProviderReadings {
  readonly providers: readonly ProviderReading[];
}

export const providerDown = defineAlert({
  on: 'provider_down',
  means: 'A provider does not answer.',
  about: 'a provider at which every attempt has failed for `after_seconds`',
  often: 'at the beginning and at the end',
  keys: { after_seconds: afterSeconds('seconds without an answer after which the alert is sent.') },
  read: ({ after_seconds: after }) => ({ afterMs: after * 1_000 }),
  find({ afterMs }, { providers }: ProviderReadings, found) {
    for (const one of providers) {
      const { name, isUp, isUnpaid, downSince, shut, endpoints } = one;
      // An account without credit does not recover by waiting, so it is reported at once.
      const isDown = downSince !== null && (isUnpaid || found.now - downSince >= afterMs);
      found.noteLasting([name], {
        isDown: isDown || (isUp ? false : null),
        down: downText(one, found.now - (downSince ?? found.now)),
        up: (ms) => `Provider ${name} answers again. The alert was sent ${lengthOf(ms)} ago.`,
        details: { provider: name, endpoints_shut: shut, endpoints },
      });
    }
  },
});

function downText({ name, isUnpaid, shut, endpoints }: ProviderReading, ms: number): string {
  if (isUnpaid)
    return `The account at provider ${name} has no credit left. Add credit there. Signalbox tries the provider again once a minute.`;
  const unavailable = shut === 0 ? '' : ` ${unavailableText(shut, endpoints)}`;
  return `All requests to provider ${name} have failed for ${lengthOf(ms)}.${unavailable}`;
}

function unavailableText(shut: number, endpoints: number): string {
  if (endpoints === 1) return 'Its endpoint is unavailable.';
  const which = shut === endpoints ? `All of its ${endpoints} endpoints` : `${shut} of its ${endpoints} endpoints`;
  return `${which} ${shut === 1 ? 'is' : 'are'} unavailable.`;
}
