import { useMemo } from 'preact/hooks';
import { useResource } from '../../api/resource.ts';
import { Tag } from '../../design/tag.tsx';
import { Comparison } from './comparison.tsx';
import { draft, namesOf, type PolicyFiles, textOf } from './draft.ts';
import { DISK, EDIT, RUNNING } from './places.ts';

/** One of two policies that are compared. */
interface TextSide {
  readonly side: string;
  readonly label: string;
}

/** The texts of two policies, file by file. */
export function Texts({
  files,
  a,
  b,
  patch,
}: {
  readonly files: PolicyFiles;
  readonly a: TextSide;
  readonly b: TextSide;
  readonly patch: string;
}) {
  const [from, to] = [useTexts(files, a.side), useTexts(files, b.side)];
  const names = useMemo(
    () =>
      from && to
        ? [...new Set([...from.keys(), ...to.keys()])].filter((name) => from.get(name) !== to.get(name)).sort()
        : [],
    [from, to],
  );
  if (patch === '') return <p class="dim">The texts are the same.</p>;
  if (!from || !to) return <PatchText text={patch} />;
  return (
    <>
      {names.map((name) => (
        <section class="card" key={name} aria-label={name}>
          <div class="card-head">
            <h2>{name}</h2>
            <Tag>{from.has(name) ? (to.has(name) ? 'changed' : 'removed') : 'added'}</Tag>
          </div>
          <Comparison
            key={`${from.get(name)?.length} ${to.get(name)?.length}`}
            a={{ label: `${a.label}, ${name}`, text: from.get(name) ?? '' }}
            b={{ label: `${b.label}, ${name}`, text: to.get(name) ?? '' }}
          />
        </section>
      ))}
    </>
  );
}

/** The texts of a side; null where the page does not have them. */
function useTexts(files: PolicyFiles, side: string): ReadonlyMap<string, string> | null {
  const isStored = ![RUNNING, DISK, EDIT].includes(side);
  const stored = useResource(`/admin/policy/revisions/${encodeURIComponent(side)}`, {}, { isWanted: isStored });
  const edits = side === EDIT ? draft.value?.edits : undefined;
  const inForce = useResource('/admin/policy/files').data;
  return useMemo(() => {
    if (isStored) return stored.data && new Map(stored.data.files.map(({ name, text }) => [name, text]));
    if (side === RUNNING) return inForce && new Map(inForce.files.map(({ name, text }) => [name, text]));
    if (side === DISK && files.on_disk === 'unreadable') return null;
    return new Map(
      namesOf(files, edits).flatMap((name): [string, string][] => {
        const text = textOf(files, edits, name);
        return text === null ? [] : [[name, text]];
      }),
    );
  }, [files, side, edits, stored.data, inForce]);
}

/** A patch as it is, where a text is known by its difference alone. */
const PatchText = ({ text }: { readonly text: string }) => (
  <section class="card" aria-label="Difference of the texts">
    <pre class="policies-patch">
      {text.split('\n').map((line, at) => (
        <span
          key={at}
          class={/^\+(?!\+\+ )/.test(line) ? 'is-added' : /^-(?!-- )/.test(line) ? 'is-removed' : undefined}
        >
          {line}
          {'\n'}
        </span>
      ))}
    </pre>
  </section>
);
