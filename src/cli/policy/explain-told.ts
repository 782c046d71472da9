import type { Estimate } from '../../core/estimate.ts';
import type { Facts } from '../../core/facts.ts';
import { UNNAMED } from '../../operate/policy/reasons.ts';
import { certify } from '../../routing/certify.ts';
import { story } from '../../routing/story.ts';
import { type Runtime, strategyOf } from '../../runtime/runtime.ts';
import type { CommandResult } from '../result.ts';
import { paragraphs } from '../terminal.ts';
import { jsonText } from '../text.ts';
import type { PolicyCommand } from './command.ts';
import { certificateText } from './explain-text.ts';
import type { LearntOfQuestion } from './learnt.ts';
import { leftOutBriefly } from './settings.ts';

/** What outcomes tell of the request; null for nothing, and the qualities are as declared. */
interface Learnt extends Pick<LearntOfQuestion, 'words'> {
  readonly estimate: Estimate | null;
}

/** How a request is explained. */
export interface ExplainForm {
  readonly json: boolean;
  /** Sentences around the story: of a task type that is not known, of conditions that could not be judged. */
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** What is not known here of what a server would go by. */
  readonly note: string;
  /** What the variables that are set here leave out, with the reason; empty where they do not count. */
  readonly missing: readonly string[];
  /** More keys of the JSON, before all others. */
  readonly head?: object;
}

/** A decision that nobody has asked for, or its refusal: as text, or as JSON. */
export function told(
  facts: Facts,
  { estimate, words }: Learnt,
  runtime: Runtime,
  form: ExplainForm,
  { terminal, http }: PolicyCommand,
): CommandResult {
  const { snapshot } = runtime;
  const { json, before, after, note, missing, head: more } = form;
  const certificate = certify(snapshot, facts, { ...UNNAMED, ...strategyOf(facts, runtime), estimate });
  const code = certificate.choice === null ? 2 : 0;
  if (json) {
    const { choice, reason, refusal } = certificate;
    const head = { policy_revision: snapshot.revision, route_reason: reason, choice, refusal };
    const reasons = { facts: http.factsBody(facts), ...http.certificateBody(certificate, facts) };
    const body = { ...more, ...head, ...reasons, left_out_here: missing };
    return { text: jsonText(body), code };
  }
  const notes = missing.length > 0 ? [`${leftOutBriefly(missing)}.`] : [];
  const ranked = certificate.candidates.filter(({ rank }) => rank !== null && rank <= 2);
  const strongest = words(ranked.map(({ model }) => model));
  const lines = [...before, ...story(certificate, facts, strongest), ...after, ...notes, note];
  return { text: `${certificateText(certificate, terminal)}\n${paragraphs(lines, terminal)}`, code };
}
