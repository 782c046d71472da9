import { ESCALATION_NAMES, ESCALATION_SIGNALS, USUAL_SIGNALS } from '../../src/core/request/escalation.ts';
import { ANSWER_SIGNALS } from '../../src/core/request/failure-kinds.ts';
import { figuresOf, KEPT_ASIDE, TRANSCRIPTS, type Transcript } from '../routing/signals/transcripts.ts';
import { marked } from './choices-page.ts';
import { markdownTable } from './table.ts';

export const ESCALATION_PAGE = 'docs/route/escalation.md';
export const AGENTS_PAGE = 'docs/route/agents.md';

/** Returns `docs/route/escalation.md` with the tables of the signals and of their figures. */
export function escalationPage(): string {
  const usual: readonly string[] = USUAL_SIGNALS;
  const second: readonly string[] = ANSWER_SIGNALS;
  const rows = ESCALATION_NAMES.map((name) => [
    `\`${name}\``,
    ESCALATION_SIGNALS[name],
    usual.includes(name) ? 'yes' : 'no',
    second.includes(name) ? 'yes' : 'no',
  ]);
  const signals = markdownTable(['signal', 'meaning', 'by default', 'second attempt'], rows);
  const text = marked(ESCALATION_PAGE, 'signals', signals);
  const all = Object.values(TRANSCRIPTS).flat();
  const figures = ESCALATION_NAMES.flatMap((name) => {
    const own = all.filter(({ signal }) => signal === name);
    return own.length > 0 ? [figuresRow(`\`${name}\``, own)] : [];
  });
  return marked(ESCALATION_PAGE, 'figures', markdownTable(['signal', ...FIGURES], figures), text);
}

/** Returns `docs/route/agents.md` with the table of figures. */
export function agentsPage(): string {
  const all = Object.values(TRANSCRIPTS).flat();
  const rows = [
    figuresRow(
      'all sessions',
      all.filter(({ signal }) => signal === 'stuck_agent'),
    ),
    figuresRow('of these, not used to choose the rules', TRANSCRIPTS[KEPT_ASIDE]!),
  ];
  return marked(AGENTS_PAGE, 'figures', markdownTable(['transcripts', ...FIGURES], rows));
}

const FIGURES = ['failures found', 'false alarms'] as const;

function figuresRow(name: string, transcripts: readonly Transcript[]): string[] {
  const { found, failures, falseAlarms, others } = figuresOf(transcripts);
  return [name, `${found} of ${failures}`, `${falseAlarms} of ${others}`];
}
