import type { Facts } from '../../core/facts.ts';
import { visible } from '../../core/visible.ts';
import { percent } from '../../routing/advise.ts';
import { type InfluentialWord, influentialWords } from '../../routing/profile/influential-words.ts';
import type { ProfileInput } from '../../routing/profile/input.ts';

/** What made a request's task, for an explanation that has its text at hand. */
export interface TaskReasons {
  readonly task: string;
  /** How likely the task is, 0..1. */
  readonly share: number;
  /** In the order of the request; none where no word tells, such as for an image. */
  readonly words: readonly InfluentialWord[];
}

/** The words that made the likeliest task of a request. It takes milliseconds. */
export function taskReasons(request: ProfileInput, { task, mix }: Facts): TaskReasons {
  const likeliest = mix[0]?.task ?? task;
  return { task: likeliest, share: mix[0]?.share ?? 1, words: influentialWords(request, likeliest) };
}

const PLACES = { question: '', 'system prompt': ' in the system prompt', 'question before': ' in the question before' };

/** `Task: classification (81 %; “classify”, “tickets” in the system prompt; “label”).` */
export function taskText({ task, share, words }: TaskReasons): string {
  const places = Map.groupBy(words, ({ of }) => of);
  const told = [...places].map(([of, all]) => `${all.map(({ text }) => `“${visible(text)}”`).join(', ')}${PLACES[of]}`);
  return `Task: ${task} (${[percent(share), ...told].join('; ')}).`;
}

export const taskBody = ({ task, share, words }: TaskReasons): object => ({
  task,
  share,
  words: words.map(({ text, of, adds }) => ({ text, of, adds: Number(adds.toFixed(2)) })),
});
