import type { Facts } from '../../core/facts.ts';
import { type InfluentialWord, influentialWords } from '../../routing/profile/influential-words.ts';
import type { ProfileInput } from '../../routing/profile/input.ts';

/** The evidence for a request's task, read from its text. */
export interface TaskReasons {
  readonly task: string;
  /** The probability of the task, 0..1. */
  readonly share: number;
  /** In the order of the request; empty where no word counts, such as for an image. */
  readonly words: readonly InfluentialWord[];
}

/** Returns the words that decided the likeliest task of a request. It takes milliseconds. */
export function taskReasons(request: ProfileInput, { task, mix }: Facts): TaskReasons {
  const likeliest = mix[0]?.task ?? task;
  return { task: likeliest, share: mix[0]?.share ?? 1, words: influentialWords(request, likeliest) };
}
