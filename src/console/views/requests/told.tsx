import { hrefOf } from '../../shell/router.ts';
import { reachOfViewer } from '../../shell/session.ts';
import type { Piece, Rule, Sentence } from './story.ts';

/** A rule by its name, with the line of the policy that states it; a link for those who may read policies. */
export function RuleLink({ rule: { name, file, line } }: { readonly rule: Rule }) {
  const place = `${file}:${line}`;
  return (
    <span class="requests-rule">
      {name} (
      {reachOfViewer('policy.read') === null ? (
        place
      ) : (
        <a href={hrefOf('/policies', { file, line: String(line) })}>{place}</a>
      )}
      )
    </span>
  );
}

/** A story in sentences. The first ones are the answer, and stand out. */
export const Told = ({
  sentences,
  answers = 1,
}: {
  readonly sentences: readonly Sentence[];
  readonly answers?: number;
}) => (
  <div class="requests-story">
    <p class="requests-answer">
      {sentences.slice(0, answers).map((sentence, at) => (
        <Words key={at} sentence={sentence} />
      ))}
    </p>
    {sentences.slice(answers).map((sentence, at) => (
      <p key={at}>
        <Words sentence={sentence} />
      </p>
    ))}
  </div>
);

const Words = ({ sentence }: { readonly sentence: Sentence }) => (
  <>
    {sentence.map((piece, at) => (
      <Word key={at} piece={piece} />
    ))}{' '}
  </>
);

function Word({ piece }: { readonly piece: Piece }) {
  if (typeof piece === 'string') return <>{piece}</>;
  return 'model' in piece ? <b>{piece.model}</b> : <RuleLink rule={piece.rule} />;
}
