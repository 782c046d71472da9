import { ANSWER_SIGNALS } from '../../src/core/decision/failure-kinds.ts';
import { ESCALATION_NAMES, ESCALATION_SIGNALS, USUAL_SIGNALS } from '../../src/core/request/facts.ts';
import { marked } from './choices-page.ts';
import { markdownTable } from './table.ts';

export const ESCALATION_PAGE = 'docs/route/escalation.md';

/** Returns `docs/route/escalation.md` with the table of the signals. */
export function escalationPage(): string {
  const usual: readonly string[] = USUAL_SIGNALS;
  const second: readonly string[] = ANSWER_SIGNALS;
  const rows = ESCALATION_NAMES.map((name) => [
    `\`${name}\``,
    ESCALATION_SIGNALS[name],
    usual.includes(name) ? 'yes' : 'no',
    second.includes(name) ? 'yes' : 'no',
  ]);
  return marked(ESCALATION_PAGE, 'signals', markdownTable(['signal', 'meaning', 'by default', 'second attempt'], rows));
}
