[(class_declaration name: (identifier) @name) (record_declaration name: (identifier) @name)] @class
[(interface_declaration name: (identifier) @name) (annotation_type_declaration name: (identifier) @name)] @interface
(enum_declaration name: (identifier) @name) @enum
[(method_declaration name: (identifier) @name) (constructor_declaration name: (identifier) @name)] @method
