import { useState } from 'preact/hooks';
import { isForbidden } from '../../api/failure.ts';
import { useResource } from '../../api/resource.ts';
import { Button } from '../../design/button.tsx';
import { exactTime } from '../../design/format.ts';
import { Failure, Partial, Skeleton } from '../../design/states.tsx';

/** The words of a request and of its answer, where they were kept and the viewer may read them. Reading them is logged, so somebody asks for it. */
export function Content({ id }: { readonly id: string }) {
  const [isWanted, setWanted] = useState(false);
  const content = useResource(`/admin/decisions/${id}/content`, {}, { isWanted });
  if (!isWanted) {
    return (
      <div class="row">
        <Button onClick={() => setWanted(true)}>Read the text</Button>
        <span class="small dim">The text is there if the policy keeps it. The log notes who reads it.</span>
      </div>
    );
  }
  const { data, failure } = content;
  if (failure?.status === 404) return <p class="dim">Its text was not kept.</p>;
  if (failure && isForbidden(failure)) return <p class="dim">The policy does not open it to you.</p>;
  if (failure) return <Failure what="The text" failure={failure} onRetry={content.renew} />;
  if (!data) return <Skeleton />;
  return (
    <div class="stack-tight">
      {data.is_cut && <Partial>The text was longer than what is kept: its end is missing.</Partial>}
      {data.prompt === null ? <p class="dim">Prompts are not kept.</p> : <Words label="Prompt" turns={data.prompt} />}
      {data.answer === null ? <p class="dim">Answers are not kept.</p> : <Words label="Answer" turns={data.answer} />}
      <p class="small dim">Kept until {exactTime(Date.parse(data.kept_until))}.</p>
    </div>
  );
}

const Words = ({ label, turns }: { readonly label: string; readonly turns: readonly unknown[] }) => (
  <section aria-label={label}>
    <h3>{label}</h3>
    {turns.map((turn, at) => {
      const { who, text } = turnOf(turn);
      return (
        <div key={at} class="requests-turn">
          {who !== '' && <span class="small dim">{who}</span>}
          <section
            class="requests-text"
            // biome-ignore lint/a11y/noNoninteractiveTabindex: a long text scrolls, by keys, too
            tabIndex={0}
            aria-label={who === '' ? `${label} ${at + 1}` : `${label}, ${at + 1}, ${who}`}
          >
            <pre>{text}</pre>
          </section>
        </div>
      );
    })}
  </section>
);

/** A message as it was kept: its author, and its words; the rest as JSON. All of it is text. */
export function turnOf(turn: unknown): { readonly who: string; readonly text: string } {
  if (typeof turn !== 'object' || turn === null) return { who: '', text: String(turn) };
  const { role, content, index: _, ...rest }: Readonly<Record<string, unknown>> = { ...turn };
  const words = typeof content === 'string' ? [content] : Array.isArray(content) ? content.map(partText) : [];
  const others = Object.keys(rest).length > 0 ? [JSON.stringify(rest, null, 2)] : [];
  const isKnown = typeof content === 'string' || Array.isArray(content) || content == null;
  const text = [...(isKnown ? words : [JSON.stringify(content, null, 2)]), ...others].join('\n\n');
  return { who: typeof role === 'string' ? role : '', text };
}

function partText(part: unknown): string {
  if (typeof part === 'object' && part !== null && 'text' in part && typeof part.text === 'string') return part.text;
  return typeof part === 'string' ? part : JSON.stringify(part, null, 2);
}
