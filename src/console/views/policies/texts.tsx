import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useResource } from '../../api/resource.ts';
import { Button } from '../../design/button.tsx';
import { Tag } from '../../design/tag.tsx';
import { CodePlace, useEditorCode } from './code.tsx';
import { draft, namesOf, type PolicyFiles, textOf } from './draft.ts';
import { DISK, EDIT, RUNNING } from './places.ts';

/** A side of the comparison: one of the two policies. */
interface TextSide {
  readonly side: string;
  readonly label: string;
}

interface TextsProps {
  readonly files: PolicyFiles;
  readonly a: TextSide;
  readonly b: TextSide;
  readonly patch: string;
}

/** The texts of two policies by file. */
export function Texts({ files, a, b, patch }: TextsProps) {
  const [from, to] = [useTexts(files, a.side), useTexts(files, b.side)];
  if (patch === '') return <p class="dim">The texts are the same.</p>;
  if (!from || !to) return <PatchText text={patch} />;
  const names = [...new Set([...from.keys(), ...to.keys()])].filter((name) => from.get(name) !== to.get(name));
  return (
    <>
      {names.sort().map((name) => {
        const [before = '', after = ''] = [from.get(name), to.get(name)];
        return (
          <section class="card" key={name} aria-label={name}>
            <div class="card-head">
              <h2>{name}</h2>
              <Tag>{from.has(name) ? (to.has(name) ? 'changed' : 'removed') : 'added'}</Tag>
            </div>
            <Comparison
              key={`${before.length} ${after.length}`}
              a={{ label: `${a.label}, ${name}`, text: before }}
              b={{ label: `${b.label}, ${name}`, text: after }}
            />
          </section>
        );
      })}
    </>
  );
}

/** Returns the texts of one of the two policies; null if the page does not have the texts. */
function useTexts(files: PolicyFiles, side: string): ReadonlyMap<string, string> | null {
  const isStored = ![RUNNING, DISK, EDIT].includes(side);
  const stored = useResource(`/admin/policy/revisions/${encodeURIComponent(side)}`, {}, { isWanted: isStored });
  const edits = side === EDIT ? draft.value?.edits : undefined;
  const inForce = useResource('/admin/policy/files').data;
  return useMemo(() => {
    const whole = isStored ? stored.data : inForce;
    if (isStored || side === RUNNING) return whole && new Map(whole.files.map(({ name, text }) => [name, text]));
    if (side === DISK && files.on_disk === 'unreadable') return null;
    const texts = namesOf(files, edits).map((name) => [name, textOf(files, edits, name)] as const);
    return new Map(texts.flatMap(([name, text]) => (text === null ? [] : [[name, text]])));
  }, [files, side, edits, stored.data, inForce]);
}

/** Shows a patch if the page has only the difference and not both texts. */
const PatchText = ({ text }: { readonly text: string }) => (
  <section class="card" aria-label="Difference of the texts">
    <pre class="policies-patch">
      {text.split('\n').map((line, at) => {
        const isAdded = /^\+(?!\+\+ )/.test(line);
        const isRemoved = /^-(?!-- )/.test(line);
        return (
          <span key={at} class={isAdded ? 'is-added' : isRemoved ? 'is-removed' : undefined}>
            {line}
            {'\n'}
          </span>
        );
      })}
    </pre>
  </section>
);

interface ComparisonProps {
  readonly a: { readonly label: string; readonly text: string };
  readonly b: { readonly label: string; readonly text: string };
}

const WIDE = matchMedia('(min-width: 1000px)');

/** Compares two texts of one file. */
function Comparison({ a, b }: ComparisonProps) {
  const host = useRef<HTMLDivElement>(null);
  const [isWide, setWide] = useState(WIDE.matches);
  const [isWhole, setWhole] = useState(false);
  const editor = useEditorCode();
  const { code } = editor;
  useEffect(() => {
    const look = () => setWide(WIDE.matches);
    WIDE.addEventListener('change', look);
    return () => WIDE.removeEventListener('change', look);
  }, []);
  useEffect(() => {
    if (!code || !host.current) return;
    return code.openComparison(host.current, a, b, { isWide, isWhole });
  }, [code, isWide, isWhole, a.text, b.text]);
  return (
    <>
      <div class="policies-sides small dim" aria-hidden="true">
        <span>{a.label}</span>
        <span>{b.label}</span>
      </div>
      <CodePlace host={host} editor={editor} rows={8} />
      <div class="policies-whole">
        <Button kind="plain" onClick={() => setWhole(!isWhole)}>
          {isWhole ? 'Show only changes' : 'Show all lines'}
        </Button>
      </div>
    </>
  );
}
