import { MergeView, unifiedMergeView } from '@codemirror/merge';
import { EditorState, type Extension } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { reading, writing } from './open.ts';
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
  /** Hears the later text as it is changed; null where it cannot be. */
  readonly onText: ((text: string) => void) | null;
}

const COLLAPSED = { margin: 3, minSize: 8 };

/** Takes a part of the earlier text over into the later one. */
function takeOver(act?: (event: MouseEvent) => void): HTMLElement {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'cm-take';
  button.textContent = act ? 'Take the earlier text' : '→';
  button.title = 'Take the earlier text';
  button.setAttribute('aria-label', button.title);
  // Beside each other, the library listens to the mouse alone; a click without one is a key.
  button.onclick = (event) => {
    if (act) act(event);
    else if (event.detail === 0) button.dispatchEvent(new MouseEvent('mousedown', { bubbles: true }));
  };
  return button;
}

/** Shows two texts of a file. Where the later one can be changed, arrows between them take a part over. @returns closes it */
export function openComparison(
  host: HTMLElement,
  a: ComparedText,
  b: ComparedText,
  { isWide, isWhole, onText }: ComparisonTerms,
): () => void {
  const root = rootIn(host);
  const later: Extension[] = [
    ...reading({ label: b.label, isReadOnly: onText === null }),
    ...(onText
      ? [
          ...writing(() => null),
          EditorView.updateListener.of(({ docChanged, state }) => docChanged && onText(state.doc.toString())),
        ]
      : []),
  ];
  if (!isWide) {
    const unified = unifiedMergeView({
      original: a.text,
      mergeControls:
        onText !== null && ((type, act) => (type === 'reject' ? takeOver(act) : document.createElement('span'))),
      ...(!isWhole && { collapseUnchanged: COLLAPSED }),
      gutter: true,
    });
    const view = new EditorView({
      state: EditorState.create({ doc: b.text, extensions: [...later, unified] }),
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
    ...(onText && { revertControls: 'a-to-b', renderRevertControl: () => takeOver() }),
  });
  return () => view.destroy();
}
