import { commandName } from '../../core/command-name.ts';
import { UsageError } from '../../core/usage-error.ts';
import { learningPolicy } from '../../operate/learning/policy.ts';
import { forgetLearning } from '../../operate/learning/reset.ts';
import { groupOf, parseFlags, SWITCH, TEXT } from '../arguments.ts';
import { operator } from '../user.ts';
import { type LearnCommand, reading } from './command.ts';
import { learnExport } from './export.ts';
import { learnReplay } from './replay.ts';
import { learnStatus } from './status.ts';

/** `signalbox learn status|reset|export|replay`. Throws UsageError, or an Error of one clear sentence. */
export const runLearn = groupOf('learn', { status: learnStatus, reset, export: learnExport, replay: learnReplay });

async function reset(args: readonly string[], command: LearnCommand): Promise<string> {
  const { model = null, yes } = parseFlags(args, { model: TEXT, yes: SWITCH });
  await reading(command, async (reader) => {
    if (model === null || (await reader.learning.outcomes.models()).includes(model)) return;
    const { snapshot } = await learningPolicy(command.folder, command.judge, reader);
    if (snapshot.modelIndex.has(model)) return;
    throw new UsageError(
      `There is no model \`${model}\`. Run ${commandName()} learn status to see the models with outcomes.`,
    );
  });
  const what = model === null ? 'everything that was learned' : `everything that was learned about ${model}`;
  if (!yes) throw new UsageError(`This deletes ${what}, and cannot be undone. To confirm, add --yes.`);
  await forgetLearning(operator(), command.database, model, command.judge.now());
  return `Deleted ${what}. A running server follows within a second. Only declared figures and new outcomes count from now on.\n`;
}
