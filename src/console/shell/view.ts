import type { ComponentType } from 'preact';
import type { Action } from '../../admin/use-cases/roles.ts';
import type { DOCS_OF_VIEWS } from '../docs-of-views.ts';

/** A view of the navigation. */
export interface ConsoleView {
  /** The name of the view's folder in `src/console/views/`. */
  readonly name: keyof typeof DOCS_OF_VIEWS;
  readonly title: string;
  /** The path below `/console`. */
  readonly path: string;
  /** Whether the view also handles the paths below its own path. */
  readonly hasParts?: true;
  /**
   * The range to use if the address has none: `all` is the shortest range with all data, `last` is the last range of this browser. The
   * member is absent if the view shows no period.
   */
  readonly range?: 'all' | 'last';
  /** The action that the viewer's role needs; null if every role may open the view. */
  readonly action: Action | null;
  /** A sentence that names the roles with access, for viewers without access. */
  readonly who?: string;
  /** Loads the code when the view is opened. */
  load(): Promise<{ readonly default: ComponentType }>;
}
