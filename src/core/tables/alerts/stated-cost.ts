import { figure } from '../../define/fields.ts';
import type { StatedSums } from '../../money/stated-cost.ts';
import type { AlertSubject } from '../../people/alert.ts';
import { defineAlert } from './define.ts';
import { windowMinutes } from './keys.ts';
import { lengthOf, percent } from './words.ts';

/** With fewer attempts in a window, the rounding of a few small amounts could decide. */
export const STATED_MIN = 20;
/** The difference counts as recovered only at this multiple of the rule's limit. */
const EQUAL_AGAIN = 0.8;

/** The attempts at a model of a provider whose answers stated their cost. */
export interface StatedReading extends StatedSums {
  readonly model: string;
  readonly provider: string;
  readonly attempts: number;
  /** The sums in USD, for the details of a message. */
  readonly statedUsd: string;
  readonly matchedUsd: string;
}

interface StatedReadings {
  /** @returns the attempts of the last `windowMs` ms, by model and provider */
  statedWithin(windowMs: number): readonly StatedReading[];
}

/** The difference between what answers state as their cost and the prices of the policy. */
export const statedCostDiffers = defineAlert({
  on: 'stated_cost_differs',
  means: 'The costs that a provider states in its answers differ from the prices of the policy.',
  about: 'a model of a provider whose answers state costs that differ from your prices by more than the share `above`',
  often: 'at the beginning, and when the difference is a fifth below `above` again',
  counts: 'stated',
  keys: {
    above: figure(
      'the share of the cost at your prices by which the stated cost differs, in either direction, above which an alert is sent, above 0 and below 1.',
      { exclusiveMinimum: 0, exclusiveMaximum: 1, default: 0.05, example: 0.1 },
    ),
    window_minutes: windowMinutes(60),
  },
  read: ({ above, window_minutes: minutes }) => ({ above, windowMs: minutes * 60_000 }),
  find({ above, windowMs }, { statedWithin }: StatedReadings, found) {
    for (const reading of statedWithin(windowMs)) {
      const { model, provider, attempts } = reading;
      const share = shareOf(reading);
      const isWell = share <= above * EQUAL_AGAIN;
      const title = `${model} at ${provider}`;
      found.noteLasting(['stated', provider, model], {
        isDown: attempts < STATED_MIN ? null : share > above || (isWell ? false : null),
        down: `The answers of ${title} stated costs of ${reading.statedUsd} USD in the last ${lengthOf(windowMs)}, but the policy’s prices make ${reading.matchedUsd} USD. ${sizeText(reading, share)}, above ${percent(above)}.`,
        up: () => `The costs that ${title} states are like the policy’s prices again.`,
        details: detailsOf(reading, share),
      });
    }
  },
});

/** The difference as a share of our cost. If our cost is 0, any stated cost is the whole difference. */
const shareOf = ({ stated, matched }: StatedSums): number =>
  matched === 0 ? Number(stated > 0) : Math.abs(stated - matched) / matched;

const sizeText = ({ stated, matched }: StatedSums, share: number): string =>
  matched === 0 ? 'They have no price' : `They state ${percent(share)} ${stated > matched ? 'more' : 'less'}`;

const detailsOf = (
  { model, provider, attempts, statedUsd, matchedUsd }: StatedReading,
  share: number,
): AlertSubject => ({ model, provider, attempts, stated_usd: statedUsd, own_usd: matchedUsd, share });
