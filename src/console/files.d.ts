/** Styles are imported for the bundler, which makes one file of them. */
declare module '*.css';
