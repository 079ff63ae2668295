[(namespace_declaration name: (_) @name) (file_scoped_namespace_declaration name: (_) @name)] @module
[(class_declaration name: (identifier) @name) (record_declaration name: (identifier) @name)] @class
(struct_declaration name: (identifier) @name) @struct
(interface_declaration name: (identifier) @name) @interface
(enum_declaration name: (identifier) @name) @enum
(delegate_declaration name: (identifier) @name) @type
[(method_declaration name: (identifier) @name) (constructor_declaration name: (identifier) @name)] @method
(local_function_statement name: (identifier) @name) @function
(property_declaration name: (identifier) @name) @variable
