// Node's HTTP without what an `import` of it brings along: an import reads every export of a built-in module, and reading one of these
// loads undici, 17 MB and a twentieth of a start, for nothing that is used here.
export const http = process.getBuiltinModule('node:http');
