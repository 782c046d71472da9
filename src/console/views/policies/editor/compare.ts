import { MergeView, unifiedMergeView } from '@codemirror/merge';
import { EditorState } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { reading } from './open.ts';
import { rootIn } from './theme.ts';

interface ComparedText {
  readonly label: string;
  readonly text: string;
}

interface ComparisonTerms {
  /** Beside each other; else one below the other, as on a phone. */
  readonly isWide: boolean;
  /** With the lines that are the same. */
  readonly isWhole: boolean;
}

const COLLAPSED = { margin: 3, minSize: 8 };

/** Shows two texts of a file with their differences. @returns closes it */
export function openComparison(
  host: HTMLElement,
  a: ComparedText,
  b: ComparedText,
  { isWide, isWhole }: ComparisonTerms,
): () => void {
  const root = rootIn(host);
  const later = reading({ label: b.label, isReadOnly: true });
  if (!isWide) {
    const unified = unifiedMergeView({
      original: a.text,
      mergeControls: false,
      ...(!isWhole && { collapseUnchanged: COLLAPSED }),
      gutter: true,
    });
    const view = new EditorView({
      state: EditorState.create({ doc: b.text, extensions: [later, unified] }),
      root,
      parent: root,
    });
    return () => view.destroy();
  }
  const view = new MergeView({
    a: { doc: a.text, extensions: reading({ label: a.label, isReadOnly: true }) },
    b: { doc: b.text, extensions: later },
    root,
    parent: root,
    ...(!isWhole && { collapseUnchanged: COLLAPSED }),
  });
  return () => view.destroy();
}
