import { visible } from '../../core/visible.ts';
import type { TaskReasons } from '../../operate/policy/task-reasons.ts';
import { percent } from '../../routing/advise.ts';

const PLACES = { question: '', 'system prompt': ' in the system prompt', 'question before': ' in the question before' };

/** `Task: classification (81 %; “classify”, “tickets” in the system prompt; “label”).` */
export function taskText({ task, share, words }: TaskReasons): string {
  const places = Map.groupBy(words, ({ of }) => of);
  const signs = [...places].map(
    ([of, all]) => `${all.map(({ text }) => `“${visible(text)}”`).join(', ')}${PLACES[of]}`,
  );
  return `Task: ${task} (${[percent(share), ...signs].join('; ')}).`;
}

export const taskBody = ({ task, share, words }: TaskReasons): object => ({
  task,
  share,
  words: words.map(({ text, of, adds }) => ({ text, of, adds: Number(adds.toFixed(2)) })),
});
