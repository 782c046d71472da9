import {
  autocompletion,
  type CompletionContext,
  type CompletionResult,
  completionKeymap,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyField, historyKeymap, indentWithTab } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { bracketMatching, indentOnInput, indentUnit } from '@codemirror/language';
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from '@codemirror/lint';
import { MergeView, unifiedMergeView } from '@codemirror/merge';
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search';
import { EditorState, type Extension } from '@codemirror/state';
import {
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  hoverTooltip,
  keymap,
  lineNumbers,
} from '@codemirror/view';
import type { FileDiagnostic } from '../tools.ts';
import { helpFor, wordsAt } from './policy-words.ts';
import { policyLook, rootIn } from './theme.ts';
import { placeAt } from './yaml-place.ts';

/** The editor of a single file. */
export interface PolicyEditor {
  setText(text: string): void;
  setDiagnostics(found: readonly FileDiagnostic[]): void;
  /**
   * Scrolls to a position and puts the cursor there.
   * @param line from 1
   * @param column from 1
   */
  goTo(line: number, column: number, takesFocus: boolean): void;
  close(): void;
}

interface EditorTerms {
  readonly name: string;
  readonly text: string;
  readonly isReadOnly: boolean;
  /** The JSON Schema of policies; null until it has loaded. */
  schema(): unknown;
  onText(text: string): void;
  onLine(line: number): void;
}

/** The editor states of files that were open before, including their undo history. */
const left = new Map<string, EditorState>();
const LEFT_MAX = 50;
const KEPT = { history: historyField };

/** Opens an editor in its own shadow root inside an element. */
export function openEditor(host: HTMLElement, terms: EditorTerms): PolicyEditor {
  const { name, text, isReadOnly } = terms;
  let given = text;
  const more = isReadOnly ? '' : '. Tab indents. Press Escape, then Tab to leave the editor.';
  const extensions: Extension[] = [
    ...reading({ label: `Text of ${name}${more}`, isReadOnly, onLine: (line) => terms.onLine(line) }),
    lintGutter(),
    highlightActiveLine(),
    highlightActiveLineGutter(),
    highlightSelectionMatches(),
    hoverTooltip((view, at) => hoverAt(view.state, at, terms.schema())),
    ...(isReadOnly ? [] : writing(terms.schema)),
    EditorView.updateListener.of((update) => {
      if (!update.docChanged) return;
      const now = update.state.doc.toString();
      if (now === given) return;
      given = now;
      terms.onText(now);
    }),
  ];
  const before = left.get(name);
  const state =
    before && !isReadOnly && before.doc.toString() === text
      ? EditorState.fromJSON(before.toJSON(KEPT), { extensions }, KEPT)
      : EditorState.create({ doc: text, extensions });
  const view = new EditorView({ state, root: rootIn(host), parent: rootIn(host) });
  return {
    setText(next) {
      if (next === given) return;
      given = next;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } });
    },
    setDiagnostics(found) {
      view.dispatch(
        setDiagnostics(
          view.state,
          found.map((one) => diagnosticOf(view.state, one)),
        ),
      );
    },
    goTo(line, column, takesFocus) {
      const at = offsetOf(view.state, line, column);
      view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: 'center' }) });
      if (takesFocus) view.focus();
    },
    close() {
      left.delete(name);
      if (isReadOnly) return view.destroy();
      left.set(name, view.state);
      const [oldest] = left.keys();
      if (left.size > LEFT_MAX && oldest !== undefined) left.delete(oldest);
      view.destroy();
    },
  };
}

interface ReadingTerms extends Pick<EditorTerms, 'isReadOnly'>, Partial<Pick<EditorTerms, 'onLine'>> {
  readonly label: string;
}

/** Extensions for all texts of a policy, whether they can be edited or not. */
const reading = ({ label, isReadOnly, onLine }: ReadingTerms): Extension[] => [
  lineNumbers({
    domEventHandlers: {
      mousedown(view, block) {
        onLine?.(view.state.doc.lineAt(block.from).number);
        return false;
      },
    },
  }),
  yaml(),
  policyLook,
  EditorView.lineWrapping,
  EditorView.contentAttributes.of({
    'aria-label': label,
    spellcheck: 'false',
    ...(isReadOnly && { 'aria-readonly': 'true' }),
  }),
  EditorState.readOnly.of(isReadOnly),
  keymap.of([...searchKeymap, ...defaultKeymap]),
];

const writing = (schema: () => unknown): Extension[] => [
  history(),
  indentOnInput(),
  indentUnit.of('  '),
  bracketMatching(),
  autocompletion({ override: [(context) => completeAt(context, schema())], icons: false, closeOnBlur: true }),
  keymap.of([...completionKeymap, ...historyKeymap, ...lintKeymap, indentWithTab]),
];

function completeAt(context: CompletionContext, schema: unknown): CompletionResult | null {
  const { state, pos, explicit } = context;
  const place = schema === null ? null : placeAt(state.doc.toString(), pos);
  if (!place) return null;
  const word = state.sliceDoc(place.from, pos);
  if (!explicit && word === '' && !place.isValue) return null;
  const present = place.maps.at(-1);
  const options = wordsAt(schema, place)
    .filter(({ label, isKey }) => !isKey || label === word || !present?.has(label))
    .map(({ label, isKey, detail, info }) => ({
      label,
      detail,
      ...(info !== '' && { info: () => paragraph(info) }),
      apply: isKey && state.sliceDoc(pos, pos + 1) !== ':' ? `${label}: ` : label,
      type: isKey ? 'property' : 'enum',
    }));
  return options.length === 0 ? null : { from: place.from, options, validFor: /^[\w.:/@+-]*$/ };
}

/** Shows the description of the key under the pointer. */
function hoverAt(state: EditorState, at: number, schema: unknown) {
  const line = state.doc.lineAt(at);
  const before = /[\w.-]*$/.exec(line.text.slice(0, at - line.from))?.[0] ?? '';
  const behind = /^[\w.-]*/.exec(line.text.slice(at - line.from))?.[0] ?? '';
  const key = before + behind;
  const [from, end] = [at - before.length, at + behind.length];
  if (key === '' || schema === null || !/^\s*:(?:\s|$)/.test(state.sliceDoc(end, line.to))) return null;
  const place = placeAt(state.doc.toString(), end);
  const help = place && !place.isValue ? helpFor(schema, place, key) : '';
  if (help === '') return null;
  return { pos: from, end, above: true, create: () => ({ dom: paragraph(help) }) };
}

function paragraph(text: string): HTMLElement {
  const shown = document.createElement('div');
  shown.className = 'cm-help';
  shown.textContent = text;
  return shown;
}

function offsetOf(state: EditorState, line: number, column: number): number {
  const shown = state.doc.line(Math.min(Math.max(1, line), state.doc.lines));
  return Math.min(shown.from + Math.max(0, column - 1), shown.to);
}

function diagnosticOf(
  state: EditorState,
  { line, column, length, severity, message, hint, expected }: FileDiagnostic,
): Diagnostic {
  const from = offsetOf(state, line, column);
  const more = [hint ?? '', expected ? `Expected: ${expected}` : ''].filter(Boolean);
  return { from, to: Math.min(from + length, state.doc.length), severity, message: [message, ...more].join(' ') };
}

type ComparedText = Pick<EditorTerms, 'text'> & { readonly label: string };

interface ComparisonTerms {
  /** Whether the texts are side by side; if they are not, one text is below the other, as on a phone. */
  readonly isWide: boolean;
  /** Whether unchanged lines are shown. */
  readonly isWhole: boolean;
}

const COLLAPSED = { margin: 3, minSize: 8 };

/**
 * Shows the differences between two texts of a file.
 * @returns a function that closes the comparison
 */
export function openComparison(
  host: HTMLElement,
  a: ComparedText,
  b: ComparedText,
  { isWide, isWhole }: ComparisonTerms,
): () => void {
  const place = { root: rootIn(host), parent: rootIn(host) };
  const [earlier, later] = [a, b].map(({ label }) => reading({ label, isReadOnly: true }));
  const folded = isWhole ? {} : { collapseUnchanged: COLLAPSED };
  const unified = unifiedMergeView({ original: a.text, mergeControls: false, gutter: true, ...folded });
  const view = isWide
    ? new MergeView({
        a: { doc: a.text, extensions: earlier ?? [] },
        b: { doc: b.text, extensions: later ?? [] },
        ...place,
        ...folded,
      })
    : new EditorView({ doc: b.text, extensions: [later ?? [], unified], ...place });
  return () => view.destroy();
}
