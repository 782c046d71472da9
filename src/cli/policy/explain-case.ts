import { UsageError } from '../../core/usage-error.ts';
import { explainCase } from '../../operate/policy/explain.ts';
import { explanationBody } from '../../operate/policy/explanation-body.ts';
import type { CommandResult } from '../result.ts';
import type { PolicyCommand } from './command.ts';
import { explanationResult } from './explain-result.ts';
import { SETTING_WORDS } from './setting-text.ts';
import { missingText, placeText } from './test-text.ts';

const NOTE =
  'Cases use only the figures that the policy declares. Learned estimates, measurements and budgets do not count.';

/** `signalbox policy explain --case`. Throws UsageError, or SignalboxError as the API would. */
export async function runExplainCase(
  caseName: string,
  folder: string,
  { here, json }: { readonly here: boolean; readonly json: boolean },
  { judge, terminal }: PolicyCommand,
): Promise<CommandResult> {
  const explanation = await explainCase(caseName, folder, here, judge);
  const { name, place } = explanation.case;
  if (explanation.unserved) {
    throw new UsageError(`The case "${name}" cannot run: ${missingText(explanation.unserved)}.`);
  }
  const { failures, settings, missing } = explanation;
  const status = failures.length === 0 ? 'holds' : 'failed';
  const keys = failures.map(({ key, wanted, got }) => `${key} is ${got}, expected ${wanted}`);
  const { file, line, column } = place;
  const body = {
    case: { name, file, line, column, status, settings },
    ...explanationBody(explanation, { isMeasured: false, isFunded: false, missing }),
  };
  return explanationResult(body, {
    ...{ json, terminal, note: NOTE },
    before: [`The case “${name}” (${placeText(place)}), ${SETTING_WORDS[settings[0]!]}.`],
    after: [keys.length === 0 ? 'The case holds.' : `The case fails: ${keys.join('; ')}.`],
  });
}
