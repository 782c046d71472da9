import { toCredits } from '../../core/credits.ts';
import type { PolicySnapshot } from '../../core/snapshot.ts';
import type { HypotheticalExplanation } from '../../operate/policy/explain.ts';
import { explanationBody } from '../../operate/policy/explanation-body.ts';
import { capReason } from '../../routing/output-maximum.ts';
import { story } from '../../routing/story.ts';
import type { CommandResult } from '../result.ts';
import { paragraphs } from '../terminal.ts';
import { jsonText } from '../text.ts';
import type { PolicyCommand } from './command.ts';
import { certificateText } from './explain-text.ts';
import { leftOutBriefly } from './setting-text.ts';

/** The form of an explanation. */
export interface ExplainForm {
  readonly json: boolean;
  /** Sentences around the story: of an unknown task type, of conditions that failed. */
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** The last sentence: the limits of the explanation. */
  readonly note: string;
  /** Providers that the variables set here leave out, with the reason; empty where they do not count. */
  readonly missing: readonly string[];
  /** More keys of the JSON, before all others. */
  readonly head?: object;
}

/** The columns of the table, in words. */
export const legend = ({ usdPerCredit }: Pick<PolicySnapshot, 'usdPerCredit'>): string =>
  `Quality is the expected share of good answers; 1 Credit is ${usdPerCredit} USD; latency is the expected time to the end of the answer, and source says where its speed is from. Utility weighs the three as the selector says, and the highest wins.`;

function holdText({ certificate: { choice }, firstHold, isFunded, shortage }: HypotheticalExplanation): string[] {
  if (shortage) return [`It is refused with ${shortage.status} ${shortage.code}: ${shortage.message}`];
  if (firstHold === null) {
    return isFunded && choice !== null ? ['It would wait for money that other requests of its key hold.'] : [];
  }
  if (!isFunded) {
    return [
      `Where its worst case is a large part of a fund, ${toCredits(firstHold.amount)} Credits are held first, and the hold grows with the answer: its service stops billing when it is aborted.`,
    ];
  }
  const { amount, grows, capped } = firstHold;
  const more = grows
    ? ' first, and the hold grows with the answer: its service stops billing when it is aborted'
    : capped
      ? `. Its output is capped at ${capped.outputCap} tokens: ${capReason(capped.by)}`
      : '';
  return [`Of the money of its key, ${toCredits(amount)} Credits are held${more}.`];
}

/** The result of a command that explains: text or JSON, and code 2 for a refusal. */
export function explanationResult(
  explanation: HypotheticalExplanation,
  { json, before, after, note, missing, head }: ExplainForm,
  { terminal }: PolicyCommand,
): CommandResult {
  const { facts, certificate, shortage, runtime } = explanation;
  const { snapshot } = runtime;
  const { choice, candidates } = certificate;
  const code = choice === null || shortage ? 2 : 0;
  if (json) {
    return { text: jsonText({ ...head, ...explanationBody(explanation), left_out_here: missing }), code };
  }
  const notes = missing.length > 0 ? [`${leftOutBriefly(missing)}.`] : [];
  const ranked = candidates.filter(({ rank }) => rank !== null && rank <= 2);
  const columns = ranked.length > 0 ? [legend(snapshot)] : [];
  const told = [...story(certificate, facts), ...holdText(explanation)];
  const lines = [...before, ...told, ...after, ...notes, ...columns, note];
  return { text: `${certificateText(certificate, terminal)}\n${paragraphs(lines, terminal)}`, code };
}
