(module name: (_) @name) @module
(class name: (_) @name) @class
[(method name: (_) @name) (singleton_method name: (_) @name)] @function
(assignment left: (constant) @name) @constant
