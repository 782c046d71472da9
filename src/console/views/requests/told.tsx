import { Coded } from '../../design/written.tsx';
import { reachOfViewer } from '../../shell/session.ts';
import { revisionHref } from '../policies/places.ts';
import type { Piece, Rule, Sentence } from './story.ts';

interface RuleLinkProps {
  readonly rule: Rule;
  /** The policy that states it. */
  readonly revision: string;
}

/** A rule by its name, with the line of the policy that states it; a link for those who may read policies. */
export function RuleLink({ rule: { name, file, line }, revision }: RuleLinkProps) {
  const place = `${file}:${line}`;
  const href = revisionHref(revision, { file, line: String(line) });
  return (
    <span class="requests-rule">
      {name} ({reachOfViewer('policy.read') === null ? place : <a href={href}>{place}</a>})
    </span>
  );
}

interface ToldProps {
  readonly sentences: readonly Sentence[];
  /** The policy that its rules are of. */
  readonly revision: string;
  /** How many of the first ones are the answer. */
  readonly answers?: number;
}

/** A story in sentences. The first ones are the answer, and stand out. */
export const Told = ({ sentences, revision, answers = 1 }: ToldProps) => (
  <div class="requests-story">
    <p class="requests-answer">
      {sentences.slice(0, answers).map((sentence, at) => (
        <Words key={at} sentence={sentence} revision={revision} />
      ))}
    </p>
    {sentences.slice(answers).map((sentence, at) => (
      <p key={at}>
        <Words sentence={sentence} revision={revision} />
      </p>
    ))}
  </div>
);

const Words = ({ sentence, revision }: { readonly sentence: Sentence; readonly revision: string }) => (
  <>
    {sentence.map((piece, at) => (
      <Word key={at} piece={piece} revision={revision} />
    ))}{' '}
  </>
);

function Word({ piece, revision }: { readonly piece: Piece; readonly revision: string }) {
  if (typeof piece === 'string') return <Coded text={piece} />;
  return 'model' in piece ? <b>{piece.model}</b> : <RuleLink rule={piece.rule} revision={revision} />;
}
