// Node's HTTP without an `import`: an import reads every export of a built-in module, and reading one of these loads undici, which takes 17
// MB and a twentieth of the start time and is not used here.
export const http = process.getBuiltinModule('node:http');
